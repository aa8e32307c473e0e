import { refusals, asIs, coded, error, google, openRouter } from "./answer.ts";

const refused = refusals("quota_exceeded");

/** What means `quota_exceeded`, by its status. */
export const QUOTA_EXCEEDED = [
  ...refused(400, {
    "anthropic-no-credit": {
      type: "error",
      error: {
        type: "invalid_request_error",
        message:
          "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
      },
      request_id: "req_1",
    },
    "anthropic-usage-limit": {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
      },
      request_id: "req_1",
    },
    "dashscope-arrears": error("Access denied, please make sure your account is in good standing.", "Arrearage"),
    "litellm-budget": error("Budget has been exceeded! Current cost: 12.1, Max budget: 10.0", "400", "budget_exceeded"),
    "openai-hard-limit": error("Billing hard limit has been reached", "billing_hard_limit_reached"),
    "prepaid-zero": "Prepaid balance of workspace 'x' is 0.00 USD.",
    "spend-cap": { error: { type: "spend_cap_reached", message: "The spend cap for this project has been hit." } },
    "german-quota": error("Das Kontingent ist erschöpft.", "quota_exceeded", "error"),
    "included-usage": {
      message: "This workspace has run through its included usage. Turn on usage-based pricing to continue.",
    },
    wallet: "Wallet is empty.",
    "remaining-zero": error("Remaining token quota: 0.", "token_quota_exhausted"),
    cap: error("Your organization has reached its monthly cap.", null, "cap_reached"),
    low: { code: "BALANCE_TOO_LOW", msg: "recharge needed" },
    "top-up": "Please top up before sending more requests.",
    budget: "The team budget of 50 USD was used up on 24 November.",
    "cost-centre": "Cost centre 4711 has no money left.",
  }),
  ...refused(402, {
    "deepseek-balance": error("Insufficient Balance", "invalid_request_error", "unknown_error"),
    "openrouter-credits": {
      error: {
        message:
          "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 1234.",
        code: 402,
      },
      user_id: "user_1",
    },
    "openrouter-credits-2": openRouter(402, "Insufficient credits. Add more using the page of credits."),
    "huggingface-credits": {
      error: "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get more.",
    },
    "together-credit": error(
      "Credit limit exceeded, please navigate to the billing settings to upgrade your plan.",
      "credit_limit",
    ),
    "nvidia-credits": { detail: "Account 'x': Cloud credits expired - Please contact NVIDIA representatives" },
    "deepinfra-balance": { detail: { error: "inference prohibited, please enter a payment method or add balance" } },
    "replicate-credit": { title: "Insufficient credit", detail: "You have insufficient credit to run this model." },
    "copilot-allowance": error("You have exceeded your premium request allowance.", "quota_exceeded"),
    "402-empty": asIs(""),
    "russian-balance": { status: 402, message: "Недостаточно средств на балансе" },
    payment: asIs("Payment Required"),
    costs: { error: "This request costs 0.03 USD, and your account holds 0.01 USD." },
  }),
  ...refused(403, {
    "google-billing": google(
      403,
      "PERMISSION_DENIED",
      "This API method requires billing to be enabled. Please enable billing on project #1 by visiting https://console.developers.google.com/billing/enable",
    ),
    "xai-no-credit": {
      code: "The caller does not have permission to execute the specified operation",
      error: "Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai.",
    },
    "dashscope-free-tier": error("The free tier of the model has been exhausted.", "AllocationQuota.FreeTierOnly"),
    "openrouter-key-limit": { error: { message: "Key limit exceeded (total limit).", code: 403 }, user_id: "user_1" },
    "azure-volume": coded("403", "Out of call volume quota for OpenAI S0. Quota will be replenished in 3.01:12:24."),
    "volcengine-overdue": coded(
      "AccountOverdueError",
      "The request failed because your account has an overdue balance. Request id: 1",
    ),
    "siliconflow-balance": { code: 30001, message: "Sorry, your account balance is insufficient", data: null },
    "novita-balance": { code: 403, reason: "NOT_ENOUGH_BALANCE", message: "not enough balance", metadata: {} },
    "xai-credit": { code: "permission-denied", error: "Your team has used all available credits." },
    "trial-ended": { message: "Your trial has ended. Subscribe to continue." },
    "plan-requests": {
      error: "plan_limit",
      message: "Your Hobby plan includes 200 agent requests per month; you have used 200.",
    },
    "card-declined": error(
      "Your payment method was declined. Update your card to keep using the API.",
      "payment_required",
    ),
    invoice: { detail: "Invoice 2231 has not been paid. Access is paused." },
    owed: "You owe 12.40 EUR. Pay the open amount to use the API again.",
    "payment-setup": "Complete the payment setup of this workspace first.",
    sponsor: "The sponsor of this project has stopped paying for it.",
    seats: "All credits of this billing period are spent.",
  }),
  ...refused(
    403,
    {
      "vercel-card": error(
        "AI Gateway requires a valid credit card on file to service requests. Please visit the dashboard to add a card and unlock your free credits.",
        null,
        "customer_verification_required",
      ),
    },
    { also: ["auth_failed"] },
  ),
  ...refused(412, {
    "fireworks-suspended":
      "Account mine is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.",
  }),
  ...refused(422, { "invoice-2": { message: "Cannot process: open invoice of account 12." } }),
  ...refused(
    429,
    {
      "openai-quota": error(
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
      ),
      "openai-inactive": error("Your account is not active, please check your billing details.", "billing_not_active"),
      "google-daily": google(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
      ),
      "xai-spending-limit": {
        code: "Some resource has been exhausted",
        error:
          "Your team has either used all available credits or reached its monthly spending limit. To continue, please purchase more credits or raise your spending limit.",
      },
      "moonshot-balance": error(
        "Your account org-x is suspended due to insufficient balance, please recharge your account or check your plan and billing details",
        null,
        "exceeded_current_quota_error",
      ),
      "zhipu-balance": coded("1113", "Insufficient balance or no resource package. Please recharge."),
      "zhipu-five-hours": coded("1308", "Usage limit reached for 5 hour. Your limit will reset at 2026-11-21 20:00:00"),
      "google-prepaid": google(
        429,
        "RESOURCE_EXHAUSTED",
        "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.",
      ),
      "volcengine-paused": coded(
        "SetLimitExceeded",
        "Your account has reached the set inference limit for the foo model, and the model service has been paused.",
      ),
      "zhipu-debt": coded("1113", "您的账户已欠费，请充值后重试"),
      "workers-neurons": {
        errors: [
          {
            message:
              "AiError: Ai: you have used up your daily free allocation of 10,000 neurons, please upgrade to the Workers Paid plan if you would like to continue usage.",
            code: 4006,
          },
        ],
        success: false,
        result: {},
        messages: [],
      },
    },
    { cliB: "rate_limited" },
  ),
  ...refused(
    429,
    {
      "monthly-allowance": { error: { message: "Monthly token allowance used up; it resets on 1 December." } },
      "free-messages": { error: "You've hit your daily cap of 50 free messages." },
      "plan-limit": {
        error: { type: "usage_limit_exceeded", message: "Limit of your plan reached; resets on Monday." },
      },
    },
    { cliB: "rate_limited", also: ["rate_limited"] },
  ),
];
