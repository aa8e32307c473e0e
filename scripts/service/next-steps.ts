/** Commands to paste into another terminal. */
export function nextSteps(base: string, passwordFile: string): string {
  return `
Log in, make an API key and let an agent answer (paste it into another terminal):

  B=${base}; J='Content-Type: application/json'; PASSWORD=$(cat '${passwordFile}')
  TOKEN=$(curl -sS $B/api/auth/token -d username=admin --data-urlencode "password=$PASSWORD" | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  KEY=$(curl -sS $B/api/user/apikey/ -H "Authorization: Bearer $TOKEN" -H "$J" -d '{"request_id":"my-first-key","name":"first"}' | sed 's/.*"secret":"\\([^"]*\\)".*/\\1/')
  curl -sS $B/api/agent-invocation/agent-call/runs -H "Authorization: Bearer $KEY" -H "$J" -d '{"agent_slug":"cli-b","messages":[{"role":"user","content":"Write a small program, run it, and tell me what it printed."}]}'

Every route: ${base}/docs. The next page: docs/service.md.
`;
}
