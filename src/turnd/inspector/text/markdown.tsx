import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import type { ComponentChild } from "preact";
import { useMemo } from "preact/hooks";
import { divideBlocks } from "./divide-blocks.ts";
import { Long, Pieces, Plain } from "./text.tsx";
import { isWebAddress, visibleText } from "./visible.ts";

/** More at once is shown as it was written: reading it could take seconds. */
const MOST_PARSED = 100_000;
/** Deeper is shown as it was written. */
const MOST_DEPTH = 16;

/**
 * What a model has written, as Markdown. Everything is text of the page's own elements: HTML in it is shown as it was
 * written, an image as a link, and only addresses of http and https can be followed. Nothing that is there is hidden.
 */
export function Markdown({ text }: { readonly text: string }) {
  return <Long text={text} render={(part) => <Blocks text={part} />} />;
}

function Blocks({ text }: { readonly text: string }) {
  // A list of events is drawn again with each that comes.
  return useMemo(() => {
    const blocks = text.length > MOST_PARSED ? [{ text, isWhole: false }] : divideBlocks(text);
    return (
      <div class="prose markdown">
        {blocks.map((block, index) => {
          const tokens = block.isWhole ? parse(block.text) : undefined;
          return tokens === undefined ? <p key={index}>{plain(block.text, TOP)}</p> : renderAll(tokens, TOP);
        })}
      </div>
    );
  }, [text]);
}

/** Where in a message something stands. */
interface Place {
  readonly depth: number;
  /** Nothing can be followed within what is followed itself. */
  readonly isInLink: boolean;
}

const TOP: Place = { depth: 0, isInLink: false };

/** Undefined where it is nested too deeply to be read. */
function parse(text: string): Token[] | undefined {
  try {
    return Lexer.lex(text, { gfm: true });
  } catch {
    return undefined; // Shown as it was written.
  }
}

function renderAll(tokens: readonly Token[], place: Place): ComponentChild[] {
  return tokens.map((token, index) => <Part key={index} token={token} place={place} />);
}

function Part({ token, place }: { readonly token: Token; readonly place: Place }) {
  if (place.depth > MOST_DEPTH || !isMarkedToken(token)) return <>{plain(token.raw, place)}</>;
  return <>{render(token, { ...place, depth: place.depth + 1 })}</>;
}

/** The lexer has no extensions, which could add others. */
function isMarkedToken(token: Token): token is MarkedToken {
  return token.type in KNOWN;
}

const KNOWN: Readonly<Record<MarkedToken["type"], true>> = {
  blockquote: true,
  br: true,
  checkbox: true,
  code: true,
  codespan: true,
  def: true,
  del: true,
  em: true,
  escape: true,
  heading: true,
  hr: true,
  html: true,
  image: true,
  link: true,
  list: true,
  list_item: true,
  paragraph: true,
  space: true,
  strong: true,
  table: true,
  text: true,
};

function render(token: MarkedToken, place: Place): ComponentChild {
  const inner = (tokens: readonly Token[] | undefined, text: string): ComponentChild =>
    tokens === undefined ? plain(decode(text), place) : renderAll(tokens, place);
  switch (token.type) {
    case "space":
      return null;
    case "heading":
      return <Heading level={token.depth}>{inner(token.tokens, token.text)}</Heading>;
    case "paragraph":
      return <p>{inner(token.tokens, token.text)}</p>;
    case "blockquote":
      return <blockquote>{inner(token.tokens, token.text)}</blockquote>;
    case "list":
      return <List list={token} place={place} />;
    case "list_item":
      return <li>{inner(token.tokens, token.text)}</li>;
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    case "code":
      return (
        <>
          {token.lang !== undefined && token.lang !== "" && <p class="muted language">{plain(token.lang, place)}</p>}
          <pre class="output" tabIndex={0}>
            {plain(token.text, place)}
          </pre>
        </>
      );
    case "table":
      return <Table table={token} place={place} />;
    case "hr":
      return <hr />;
    case "br":
      return <br />;
    case "strong":
      return <strong>{inner(token.tokens, token.text)}</strong>;
    case "em":
      return <em>{inner(token.tokens, token.text)}</em>;
    case "del":
      return <del>{inner(token.tokens, token.text)}</del>;
    case "codespan":
      return <code>{plain(token.text, place)}</code>;
    case "escape":
      return plain(token.text, place);
    case "link":
      return (
        <Link link={token} place={place}>
          {renderAll(token.tokens, { ...place, isInLink: true })}
        </Link>
      );
    case "image":
      // It would tell another host that the page was read.
      return (
        <Link link={token} place={place}>
          {plain(token.text === "" ? "image" : `image: ${decode(token.text)}`, { ...place, isInLink: true })}
        </Link>
      );
    case "text":
      return inner(token.tokens, token.text);
    case "html":
    case "def":
      return plain(token.raw, place);
  }
}

function Heading({ level, children }: { readonly level: number; readonly children: ComponentChild }) {
  // Below those of the page.
  return (
    <p class={`heading heading-${level}`} role="heading" aria-level={Math.min(6, level + 2)}>
      {children}
    </p>
  );
}

function List({ list, place }: { readonly list: Tokens.List; readonly place: Place }) {
  const items = list.items.map((item, index) => <li key={index}>{renderAll(item.tokens, place)}</li>);
  return list.ordered ? <ol start={list.start === "" ? 1 : list.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table, place }: { readonly table: Tokens.Table; readonly place: Place }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              <th key={index} scope="col">
                {renderAll(cell.tokens, place)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{renderAll(cell.tokens, place)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Where it leads stands behind it, unless that is its text: a text can name another place than its link. */
interface LinkProps {
  readonly link: Tokens.Link | Tokens.Image;
  readonly place: Place;
  readonly children: ComponentChild;
}

function Link({ link, place, children }: LinkProps) {
  const address = decode(link.href);
  if (!isWebAddress(address)) return <>{plain(link.raw, place)}</>;
  const { host } = new URL(address);
  const isShown = link.type === "link" && (link.text === address || link.autolink === true);
  const where = isShown ? null : <span class="muted"> ({plain(host, place)})</span>;
  if (place.isInLink) {
    return (
      <>
        {children}
        {where}
      </>
    );
  }
  return (
    <>
      <a href={address} target="_blank" rel="noopener noreferrer" title={visibleText(`${address} ${link.title ?? ""}`)}>
        {children}
      </a>
      {where}
    </>
  );
}

function plain(text: string, { isInLink }: Place): ComponentChild {
  return isInLink ? <Plain text={text} /> : <Pieces text={text} />;
}

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** Character references of HTML, those that models write. */
function decode(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi, (all, ...groups) => {
    const [decimal, hex, name] = groups.map((group: unknown) => (typeof group === "string" ? group : undefined));
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? all;
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : all;
  });
}
