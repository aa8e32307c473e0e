/** A check of the demo that did not hold. */
export class CheckFailed extends Error {
  constructor(expected: string, got: string) {
    super(`expected: ${expected}\n     got: ${got}`);
    this.name = "CheckFailed";
  }
}

/** @throws {CheckFailed} unless the check holds */
export function expectThat(holds: boolean, expected: string, got: string): void {
  if (!holds) throw new CheckFailed(expected, got);
}
