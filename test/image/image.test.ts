import { execa } from "execa";
import { expect, inject, test } from "vitest";
import { VERSION } from "../../src/turnd/daemon/version.ts";
import { describeImage, runSandbox, shareSandbox } from "../harness/sandbox.ts";
import sandboxPackage from "../../sandbox/package.json" with { type: "json" };

describeImage("the image", () => {
  const sandbox = shareSandbox();
  const run = async (...command: string[]) => (await sandbox().exec(command)).output.trim();
  const shell = (script: string) => run("sh", "-c", script);

  test("has less than 890 MB", async () => {
    const { stdout } = await execa("docker", ["image", "inspect", "--format", "{{.Size}}", inject("image").tag]);
    expect(Number(stdout) / 1e6).toBeLessThan(890);
    expect(Number(stdout) / 1e6).toBeGreaterThan(300);
  });

  test("has Node and both CLIs in the pinned versions, the CLIs as native binaries", async () => {
    const pins = sandboxPackage.optionalDependencies;
    expect(await run("node", "--version")).toBe("v22.23.0");
    expect(await shell("HOME=/tmp/home opencode --version; rm -rf /tmp/*")).toBe(pins["opencode-linux-x64"]);
    expect(await shell("HOME=/tmp/home codex --version; rm -rf /tmp/*")).toContain(
      /@(\d+\.\d+\.\d+)/.exec(pins["codex-linux-x64"])?.[1],
    );
    for (const name of ["opencode", "codex"]) {
      expect(await shell(`head -c 4 $(readlink -f /usr/local/bin/${name}) | tail -c 3`)).toBe("ELF");
    }
  });

  test("has one build of each CLI, one rg, and neither npm nor headers", async () => {
    const large = await shell("find / -xdev -type f -size +50M -perm /111 -printf '%f\\n' | sort");
    expect(large.split("\n")).toEqual(["codex", "codex-code-mode-host", "node", "opencode"]);
    expect(await shell("find / -xdev -type f -name rg -perm /111 | wc -l")).toBe("1");
    expect(await run("su", "nobody", "-s", "/usr/local/bin/rg", "--", "--version")).toMatch(/^ripgrep \d/);
    expect(await shell("find / -xdev \\( -name '*.h' -o -name npm -o -name npx -o -name yarn \\)")).toBe("");
  });

  test("has no program that gives more rights than its caller has", async () => {
    expect(await shell("find / -xdev -type f -perm /6000")).toBe("");
    // Rights can stand in a file's attributes too; no tool of the image reads them.
    const capable = `
      my $getxattr = qx(uname -m) =~ /aarch64/ ? 8 : 191;
      my $name = "security.capability";
      find({ no_chdir => 1, wanted => sub {
        my ($path, $value) = ($_, "\\0" x 64);
        $File::Find::prune = 1 if m{^/(proc|sys|dev)$};
        print "$path\\n" if -f $path && !-l $path && syscall($getxattr, $path, $name, $value, 64) > 0;
      } }, "/");`;
    expect(await run("perl", "-MFile::Find", "-e", capable)).toBe("");
  });

  test("has one user of uid 1000, and nothing of root's in that user's home or in /tmp", async () => {
    expect(await shell("getent passwd | awk -F: '$3 == 1000'")).toBe("sandbox:x:1000:1000::/home/sandbox:/bin/bash");
    expect(await shell("stat -c '%U:%G %a %n' /home/sandbox /workspace /var/lib/turnd /tmp")).toBe(
      "sandbox:sandbox 700 /home/sandbox\nsandbox:sandbox 755 /workspace\nroot:root 711 /var/lib/turnd\nroot:root 1777 /tmp",
    );
    const { stdout } = await runSandbox({
      command: ["find", "/home/sandbox", "/tmp", "-mindepth", "1", "!", "-uid", "1000"],
    });
    expect(stdout).toBe("");
  });

  test("has no configuration that would win over the rendered one, and no file that uid 1000 could change", async () => {
    expect(await shell("ls -d /etc/codex /etc/opencode 2>/dev/null; true")).toBe("");
    expect(await shell("find /opt /usr /etc -xdev ! -type l \\( -uid 1000 -o -perm -002 \\)")).toBe("");
  });

  test("has nothing of the directory where a deployment's secrets are", async () => {
    expect(await shell("ls -d /opt/turnd/sandbox/deploy 2>/dev/null; true")).toBe("");
    expect(await shell("ls /opt/turnd/sandbox/keeper")).not.toBe("");
  });

  test("has what agents and turns need on PATH", async () => {
    expect(await shell("which git rg curl perl setpriv flock nginx tini turnd | wc -l")).toBe("9");
  });

  test("describes itself by its labels, and has licence and changelog", async () => {
    const format = "{{json .Config.Labels}}";
    const { stdout } = await execa("docker", ["image", "inspect", "--format", format, inject("image").tag]);
    expect(JSON.parse(stdout)).toMatchObject({
      "org.opencontainers.image.title": "turnd sandbox",
      "org.opencontainers.image.version": VERSION,
      "org.opencontainers.image.licenses": "Apache-2.0",
    });
    expect(await shell("head -qn 1 /opt/turnd/LICENSE /opt/turnd/CHANGELOG.md")).toMatch(
      /Apache License\s+# Changelog$/,
    );
  });

  test("becomes healthy by its own check", async () => {
    const { stdout } = await execa("docker", [
      "image",
      "inspect",
      "--format",
      "{{json .Config.Healthcheck.Test}}",
      inject("image").tag,
    ]);
    const [, ...command] = JSON.parse(stdout);
    expect((await sandbox().exec(command)).exitCode).toBe(0);
  });

  test("runs turnd as root, the front as www-data, and gives neither a key", async () => {
    const users = await shell(
      "ps -eo user:20,args | grep -E 'main.mjs|nginx: ' | grep -v grep | cut -d' ' -f1 | sort | uniq -c",
    );
    expect(users.split("\n").map((line) => line.trim())).toEqual(["1 root", "2 www-data"]);
    // An environment is readable by its own user alone.
    expect((await sandbox().exec(["sh", "-c", "cat /proc/$(pgrep -o nginx)/environ"], "33")).output).toBe("");
    expect(await shell("grep -h '^NoNewPrivs\\|^CapBnd\\|^Groups' /proc/$(pgrep -o nginx)/status")).toMatch(
      /^Groups:\s*\nCapBnd:\s0+\nNoNewPrivs:\s1$/,
    );
  });
});
