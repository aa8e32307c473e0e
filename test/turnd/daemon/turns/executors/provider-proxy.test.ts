import { expect, test } from "vitest";
import { chooseProxy } from "../../../../../src/turnd/daemon/turns/executors/provider-proxy.ts";

const URL_HTTPS = "https://api.provider.test/v1";

test.each([
  ["its protocol's", { HTTPS_PROXY: "http://one", HTTP_PROXY: "http://two" }, "http://one"],
  ["ALL_PROXY without one", { ALL_PROXY: "socks5://all", HTTP_PROXY: "http://two" }, "socks5://all"],
  ["ALL_PROXY beside an empty one", { ALL_PROXY: "http://all", HTTPS_PROXY: "" }, "http://all"],
  ["the one in capitals", { https_proxy: "http://small", HTTPS_PROXY: "http://large" }, "http://large"],
  ["the one in small letters beside an empty one", { https_proxy: "http://small", HTTPS_PROXY: "" }, "http://small"],
  ["the one in small letters alone", { https_proxy: "http://small" }, "http://small"],
  ["one without a protocol", { HTTPS_PROXY: "proxy:3128" }, "http://proxy:3128"],
  ["none of another protocol", { HTTP_PROXY: "http://two" }, undefined],
  ["none", {}, undefined],
])("the proxy of an https address: %s", (_, env, address) => {
  expect(chooseProxy(URL_HTTPS, env)?.address).toBe(address);
});

test.each([
  ["api.provider.test", true],
  ["provider.test", true],
  [".provider.test", true],
  ["other.test, API.Provider.Test", true],
  ["*", true],
  ["ider.test", false],
  ["api.provider.test.example", false],
  ["", false],
])("NO_PROXY=%s excepts a name: %s", (noProxy, isExcepted) => {
  const proxy = chooseProxy(URL_HTTPS, { HTTPS_PROXY: "http://one", NO_PROXY: noProxy });
  expect(proxy === undefined).toBe(isExcepted);
});

test.each([
  ["https://10.1.2.3", "10.0.0.0/8", true],
  ["https://10.1.2.3", "10.1.2.3", true],
  ["https://11.1.2.3", "10.0.0.0/8", false],
  ["https://[fd00::1]:8443", "fd00::/8", true],
  ["https://[fd00::1]", "fd00::1", true],
  ["https://10.1.2.3", "10.0.0.0/99", false],
  ["https://10.1.2.3", "fd00::/8", false],
  ["https://10.1.2.3", "*", false],
])("for %s NO_PROXY=%s excepts an address: %s", (url, noProxy, isExcepted) => {
  const proxy = chooseProxy(url, { HTTPS_PROXY: "http://one", no_proxy: noProxy });
  expect(proxy === undefined).toBe(isExcepted);
});
