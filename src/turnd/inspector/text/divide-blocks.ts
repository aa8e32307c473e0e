/** A part of a text of Markdown that can be read by itself. */
export interface Block {
  readonly text: string;
  /** False for one that is too long to be read at once: it is shown as it was written. */
  readonly isWhole: boolean;
}

/** The most that is parsed as one block: some texts cost the square of their length. */
const MOST = 8_000;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Divides a long text at blank lines, where no fenced block of code is open. The blocks together are the text. */
export function divideBlocks(text: string): Block[] {
  if (text.length <= MOST) return [{ text, isWhole: true }];
  const blocks: Block[] = [];
  let block = "";
  /** Since the last blank line. */
  let paragraph = "";
  let fence: string | undefined;
  function endBlock(): void {
    if (block !== "") blocks.push({ text: block, isWhole: block.length <= MOST });
    block = "";
  }
  function endParagraph(): void {
    if (block.length + paragraph.length > MOST) endBlock();
    block += paragraph;
    paragraph = "";
  }
  for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined) fence = mark;
    else if (mark !== undefined && mark.startsWith(fence)) fence = undefined;
    paragraph += line;
    if (fence === undefined && line.trim() === "") endParagraph();
  }
  endParagraph();
  endBlock();
  return blocks;
}
