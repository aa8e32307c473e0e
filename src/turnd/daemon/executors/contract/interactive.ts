import type { AnsweredBy, ApprovalDecision, ApprovalRequest, InputRequest } from "../../../protocol/index.ts";
import type { Configuration } from "./configuration.ts";
import type { Invocation } from "./invocation.ts";

/**
 * How a CLI's server is driven: one process for the turns of a session, asked over its stdin and read from a file. Pure, as
 * the executor is.
 */
export interface InteractiveExecutor {
  /** Versions whose server was measured: no other is driven. */
  readonly versions: readonly string[];
  /** The server speaks HTTP: `sandbox/server-relay.mjs` stands before it. Absent: it is asked over its stdin. */
  readonly isRelayed?: true;
  /** A server takes so much memory that there are few: those with a turn count, too. */
  readonly isLarge?: true;
  /** Why turns of this configuration have a process each all the same; undefined where they need not. */
  findObstacle(configuration: Configuration): string | undefined;
  /** Arguments after the program's name. */
  buildServerArgs(invocation: Invocation): string[];
  /** Variables of the configuration that hold keys: the server is given them in another way, where no tool sees them. */
  listKeyNames(configuration: Configuration): readonly string[];
  /** What makes another server necessary, besides its files, arguments and environment: what it would keep of an earlier turn. */
  stickySettings(invocation: Invocation): string;
  /** What is said to a server first, in lines. @param epoch - names this turnd in the ids of its requests */
  greet(epoch: string, invocation: Invocation): readonly string[];
  /** The server's answer to that; undefined for any other line. */
  readGreeting(line: string, epoch: string): Greeting | undefined;
  /** Asks for a sign of life, in a line. */
  ping(id: string): string;
  /** Whether a line answers that. */
  isPong(line: string, id: string): boolean;
  /** Whether a line answers a greeting or a ping, and so is no turn's. */
  isAside(line: string): boolean;
  /** Whether a line, printed between turns, shows that the server has begun one by itself. */
  isUnasked(line: string): boolean;
  /** Talks to a server about one turn. */
  createConversation(input: ConversationInput): Conversation;
}

/** What a server answers at first. `isAdopted`: it had been greeted before, by an earlier turnd. */
export type Greeting =
  | { readonly ok: true; readonly version?: string; readonly isAdopted: boolean }
  | { readonly ok: false; readonly reason: string };

export interface ConversationInput {
  /** Names this turnd in the ids of its requests: letters and digits. */
  readonly epoch: string;
  readonly turnId: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly requestId: string;
  readonly prompt: string;
  readonly invocation: Invocation;
  /** Of the answer. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** Whether a person is asked before anything is done. */
  readonly isAsking: boolean;
  /** The thread that the server has open already. */
  readonly loadedThread: string | undefined;
}

/** What a later turn says to the running one. */
export interface GivenInput {
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly turnId: string;
  readonly requestId: string;
  readonly prompt: string;
}

/** What is to be sent, and what of it stands in the turn's stdout first: no key, and no prompt. */
export interface Outgoing {
  /** One line; absent where it stands there already, since a turnd that was killed had written it. */
  readonly record: string | undefined;
  /** One line; absent where the server needs no word of it. */
  readonly message?: string;
}

/** What the server asks of a person. */
export type PendingAsk =
  | { readonly kind: "approval"; readonly request: ApprovalRequest }
  | { readonly kind: "input"; readonly request: InputRequest };

/** What a person, or turnd in a person's place, answers. */
export type AskAnswer =
  | { readonly kind: "approval"; readonly decision: ApprovalDecision; readonly note?: string }
  | { readonly kind: "input"; readonly answers: Readonly<Record<string, readonly string[]>> };

/**
 * What became of an answer. `taken`: it is sent. `same`: it had been given before. `resolved`: another had. `unknown`: the server
 * does not ask that.
 */
export type AnswerTaken = "taken" | "same" | "resolved" | "unknown";

/** Where a conversation stands. */
export interface ConversationState {
  /** The request that begins the turn has been sent. From then on no process takes the server's place. */
  readonly isBegun: boolean;
  /** The turn has ended, or cannot begin. */
  readonly isEnded: boolean;
  /** What the turn left in the server has been removed as well: nothing more is to be said. */
  readonly isOver: boolean;
  /** Something was done that may have started processes. */
  readonly hasTools: boolean;
  readonly threadId: string | undefined;
  readonly asks: readonly PendingAsk[];
}

/**
 * What is said to a server about one turn. It knows nothing but the lines of the turn's stdout, in which turnd's own requests
 * stand too: what a killed turnd had said is read again, and the conversation goes on. Laws: the recording is the
 * transport and at most once.
 */
export interface Conversation {
  /** Takes a line of the turn's stdout. */
  observe(line: string): void;
  /** What is to be sent now. */
  next(): readonly Outgoing[];
  /** The turn is to end. */
  interrupt(): void;
  /**
   * Gives the turn what a later one says, as soon as it can take it. That it did is shown by `input.accepted` alone; what was given
   * by a turnd that was killed is not given again. Absent where the server cannot.
   */
  give?(input: GivenInput): void;
  /** Answers what the server has asked. */
  answer(id: string, answer: AskAnswer, by: AnsweredBy): AnswerTaken;
  state(): ConversationState;
}
