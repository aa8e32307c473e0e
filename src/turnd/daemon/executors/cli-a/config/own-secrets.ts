/**
 * Runs inside the CLI's server, before its own code: takes the keys from stdin, as JSON by the names of their variables, and
 * keeps them from whatever the server starts. Neither its environment in `/proc` nor any of its tools has them.
 *
 * Law: keys travel aside. Source: docs/contracts/cli-a-server.md §8.
 */
export const OWN_SECRETS = String.raw`
{
  const own = require("node:process").env;
  const given = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
  Object.assign(own, given);
  const without = (env) => Object.fromEntries(Object.entries(env ?? own).filter(([name]) => !(name in given)));
  for (const name of ["spawn", "spawnSync"]) {
    const start = Bun[name];
    Bun[name] = (first, second) => {
      const options = Array.isArray(first) ? { ...second, cmd: first } : first;
      return start.call(Bun, { ...options, env: without(options.env) });
    };
  }
  const children = require("node:child_process");
  for (const name of ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"]) {
    const start = children[name];
    children[name] = function (...args) {
      const isOptions = (arg, index) => index > 0 && typeof arg === "object" && arg !== null && !Array.isArray(arg);
      const at = args.findIndex(isOptions);
      const options = { ...args[at], env: without(args[at]?.env) };
      if (at > 0) args[at] = options;
      else args.splice(typeof args.at(-1) === "function" ? args.length - 1 : args.length, 0, options);
      return start.apply(this, args);
    };
  }
}
`;
