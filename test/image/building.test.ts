import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { LABEL } from "../harness/provide-image.ts";
import { describeImage, shareSandbox } from "../harness/sandbox.ts";
import { REPOSITORY } from "../harness/temporary.ts";

const DOCUMENT = readFileSync(join(REPOSITORY, "docs/building-images.md"), "utf8");

describeImage("an image of one's own", () => {
  // Waits until the image below it is built.
  shareSandbox();

  test("is built, runs commands as the agent and passes the doctor, by the first block of its document", async () => {
    const { tag, run } = inject("image");
    const own = `${run}-own`;
    const [first = "", ...commands] = (/```sh\n(.*?)```/s.exec(DOCUMENT)?.[1] ?? "").trim().split("\n");
    expect(first).toBe("docker build -f Dockerfile.sandbox -t turnd-sandbox .");
    const script = commands
      .join("\n")
      .replace("docker build ", `docker build -q --label ${LABEL}=${run} --build-arg SANDBOX_IMAGE=${tag} `)
      .replaceAll("my-sandbox", own);
    onTestFinished(async () => void (await execa("docker", ["rmi", "--no-prune", own], { reject: false })));
    const { exitCode, stdout, stderr } = await execa("bash", ["-euc", script], { cwd: REPOSITORY, reject: false });
    expect(exitCode, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+$/m);
    expect(stdout).toMatch(/^ok +settings: /m);
    expect(stdout).not.toMatch(/^fault/m);
    const look = ["run", "--rm", own, "stat", "-c", "%U %n", "/workspace/templates/report.md"];
    expect((await execa("docker", look)).stdout).toBe("sandbox /workspace/templates/report.md");
    const labels = await execa("docker", ["image", "inspect", "--format", "{{json .Config.Labels}}", own]);
    expect(JSON.parse(labels.stdout)).toMatchObject({ "org.opencontainers.image.title": "my sandbox" });
  });
});
