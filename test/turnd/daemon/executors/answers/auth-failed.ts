import { refusals, anthropic, asIs, coded, error, google, openRouter } from "./answer.ts";

const refused = refusals("auth_failed");

/** What means `auth_failed`, by its status. */
export const AUTH_FAILED = [
  ...refused(400, {
    "google-bad-key": google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
      { reason: "API_KEY_INVALID" },
    ]),
    "google-bad-key-list": [
      {
        error: {
          code: 400,
          message: "API key not valid. Please pass a valid API key.",
          status: "INVALID_ARGUMENT",
          details: [{ reason: "API_KEY_INVALID" }],
        },
      },
    ],
    "xai-bad-key": {
      code: "Client specified an invalid argument",
      error: "Incorrect API key provided: xa***. You can obtain one from https://console.x.ai.",
    },
    "google-expired": google(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", [
      { reason: "API_KEY_INVALID" },
    ]),
    "anthropic-disabled": anthropic("invalid_request_error", "This organization has been disabled."),
    "malformed-bearer": { message: "Malformed bearer token" },
    grant: { error: "invalid_grant", error_description: "Token has been expired or revoked." },
    "header-empty": "Header 'x-api-key' is empty.",
    "bearer-prefix": { error: "Authorization header must start with 'Bearer '" },
    rotated: "This API key was rotated; use the newest one.",
    undecoded: "The bearer credential could not be decoded.",
    "token-form": "The supplied API token has the wrong format.",
    "key-deleted": "API key was deleted by its owner.",
    "no-credentials": { detail: "No credentials were sent." },
    hmac: "HMAC signature is wrong.",
    "account-locked": "This account is locked after too many failed logins.",
  }),
  ...refused(401, {
    "openai-bad-key": error("Incorrect API key provided: sk-bad.", "invalid_api_key"),
    "openai-no-member": "You must be a member of an organization to use the API",
    "azure-bad-key": error("Access denied due to invalid subscription key or wrong API endpoint.", "401"),
    "anthropic-bad-key": {
      type: "error",
      error: { type: "authentication_error", message: "invalid x-api-key" },
      request_id: "req_1",
    },
    "mistral-bad-key": { detail: "Unauthorized" },
    "litellm-bad-key": error(
      "Authentication Error, Invalid proxy server token passed.",
      "401",
      "token_not_found_in_db",
    ),
    "nginx-401": asIs(
      "<html>\r\n<head><title>401 Authorization Required</title></head>\r\n<body>\r\n<center><h1>401 Authorization Required</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n",
    ),
    "empty-401": asIs(""),
    "azure-token": coded("Unauthorized", "Access token is missing, invalid, audience is incorrect, or have expired."),
    "anthropic-oauth": anthropic(
      "authentication_error",
      "OAuth token has expired. Please obtain a new token or refresh your existing token.",
    ),
    "openrouter-user": openRouter(401, "User not found."),
    "openai-project": error(
      "The project you are requesting has been archived and cannot be accessed",
      "not_authorized_invalid_project",
    ),
    "openai-region": error(
      "Your request was made from an IP address that is not in the allow list of the project.",
      "ip_not_authorized",
    ),
    "anthropic-key-disabled": anthropic(
      "authentication_error",
      "This API key has been disabled by an administrator of your workspace.",
    ),
    "vllm-key": { error: "Unauthorized" },
    "workers-ai-key": {
      success: false,
      errors: [{ code: 10000, message: "Authentication error" }],
      messages: [],
      result: null,
    },
    "kong-key": { message: "No API key found in request" },
    "perplexity-key": error("Invalid API key provided. You can view your key in the settings.", 401, "invalid_api_key"),
    "replicate-key": { title: "Unauthenticated", detail: "You did not pass a valid authentication token" },
    "azure-principal": coded(
      "PermissionDenied",
      "The principal `x` lacks the required data action to perform `POST` operation.",
    ),
    "copilot-token": asIs("unauthorized: token expired\n"),
    "minimax-key": { base_resp: { status_code: 1004, status_msg: "login fail: Please carry the API secret key" } },
    "openai-key": error(
      "Incorrect API key provided: sk-proj-****abcd. You can find your API key in the settings.",
      "invalid_api_key",
    ),
    "anthropic-key": anthropic("authentication_error", "invalid bearer token"),
    "openrouter-key": openRouter(401, "No auth credentials found"),
    "deepseek-key": error(
      "Authentication Fails, Your api key: ****abcd is invalid",
      "invalid_request_error",
      "authentication_error",
    ),
    "openai-organization": error("No such organization: org-abc.", "invalid_organization"),
    "openai-deactivated": error(
      "Your OpenAI account has been deactivated, please check your email for more information. If you feel this is an error, contact us through our help center.",
      "account_deactivated",
    ),
    "apim-subscription": {
      statusCode: 401,
      message:
        "Access denied due to missing subscription key. Make sure to include subscription key when making requests to an API.",
    },
    jwt: { error: "jwt expired" },
    sso: { message: "A single sign-on session is required", errors: [{ code: "sso_required" }] },
    "french-key": { code: 401, message: "Clé d'API absente ou non valide" },
    "not-logged-in": { errors: ["Not logged in"] },
    "login-for-model": "Log in to use this model.",
    "apigee-key": { fault: { faultstring: "Invalid ApiKey", detail: { errorcode: "oauth.v2.InvalidApiKey" } } },
    "login-page": asIs("<html><title>Sign in</title><form>User, password</form></html>"),
  }),
  ...refused(403, {
    "openai-country": error(
      "Country, region, or territory not supported",
      "unsupported_country_region_territory",
      "request_forbidden",
    ),
    "anthropic-no-permission": {
      type: "error",
      error: {
        type: "permission_error",
        message: "Your API key does not have permission to use the specified resource.",
      },
      request_id: "req_1",
    },
    "google-permission": google(403, "PERMISSION_DENIED", "Permission denied on resource project quota-tests."),
    "bedrock-bad-key": { message: "The security token included in the request is invalid." },
    "cloudflare-blocked": asIs("<html><body><h1>Sorry, you have been blocked</h1>Cloudflare Ray ID: 1</body></html>"),
    "empty-403": asIs(""),
    "openai-scopes": error(
      "You have insufficient permissions for this operation. Missing scopes: model.request.",
      "missing_scope",
    ),
    "azure-network": coded("AccessDenied", "Access denied due to Virtual Network/Firewall rules."),
    "anthropic-organization": anthropic(
      "permission_error",
      "OAuth authentication is currently not allowed for this organization.",
    ),
    "google-leaked": google(
      403,
      "PERMISSION_DENIED",
      "Your API key was reported as leaked. Please use another API key.",
    ),
    "squid-denied": asIs(
      "<html><head><title>ERROR: The requested URL could not be retrieved</title></head><body><h2>Access Denied.</h2><p>Access control configuration prevents your request from being allowed at this time.</p></body></html>",
    ),
    "google-unregistered": google(
      403,
      "PERMISSION_DENIED",
      "Method doesn't allow unregistered callers. Please use API Key or other form of API consumer identity to call this API.",
    ),
    "google-disabled": google(
      403,
      "PERMISSION_DENIED",
      "Generative Language API has not been used in project 1 before or it is disabled.",
      [{ reason: "SERVICE_DISABLED" }],
    ),
    "databricks-key": { error_code: "403", message: "Invalid access token." },
    "cloudflare-1020": asIs("error code: 1020"),
    "scaleway-permissions": { message: "insufficient permissions", type: "denied" },
    "bedrock-role": {
      message: "User: arn:aws:iam::1:user/me is not authorized to perform: bedrock:InvokeModelWithResponseStream",
    },
    "vertex-permission": google(
      403,
      "PERMISSION_DENIED",
      "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p' (or it may not exist).",
    ),
    signature: {
      message:
        "The request signature we calculated does not match the signature you provided. Check your secret access key and signing method.",
    },
    "ip-list": { error: "Your IP address 198.51.100.7 is not on the allow list of this key" },
    "forbidden-page": asIs(
      "<!DOCTYPE HTML><html><head><title>403 Forbidden</title></head><body><h1>Forbidden</h1><p>You don't have permission to access this resource.</p></body></html>",
    ),
    tenant: coded("tenant_blocked", "Requests of this tenant are not served."),
    "explicit-deny": {
      Message: "User is not authorized to access this resource with an explicit deny in an identity-based policy",
    },
    "missing-token": { message: "Missing Authentication Token" },
    country: coded("geo_blocked", "Requests from your country are not accepted."),
    forbidden: "You shall not pass.",
    firewall: asIs("<html><title>Web filter</title>The firewall of your company stopped this page.</html>"),
  }),
  ...refused(
    403,
    {
      zscaler: asIs(
        "<html>\r\n<head><title>Security policy</title></head>\r\n<body>\r\n<center><h1>Security policy</h1></center>\r\n<p>This site was blocked: the category is not allowed by your organization's content security policy.</p></body>\r\n</html>\r\n",
      ),
    },
    { also: ["content_blocked", "network_error"] },
  ),
  ...refused(403, { "key-without-model": "Your key has no access to model m." }, { also: ["model_not_found"] }),
  ...refused(
    407,
    {
      "proxy-login": asIs(
        "<html>\r\n<head><title>407 Proxy Authentication Required</title></head>\r\n<body>\r\n<center><h1>407 Proxy Authentication Required</h1></center>\r\n<p>Access to requested resource disallowed by administrator or you need valid username/password to use this resource</p></body>\r\n</html>\r\n",
      ),
    },
    { also: ["network_error"] },
  ),
];
