import type { DraftPrompt } from '#domain/draft-prompt.ts';

/** A language model that drafts. */
export interface Model {
  /** Its name, as it is recorded with each draft. */
  readonly name: string;
  /**
   * The text of its answer, which should be JSON.
   * @throws ModelFailure when there is no answer to use; and when `signal` is aborted, whatever that gives.
   */
  answer(prompt: DraftPrompt, signal: AbortSignal): Promise<ModelAnswer>;
}

export interface ModelAnswer {
  text: string;
  usage: TokenUse | null;
}

export interface TokenUse {
  promptTokens: number;
  completionTokens: number;
}

/** Why there is no draft, for the operator: the message says it in a sentence's end. */
export class ModelFailure extends Error {
  readonly usage: TokenUse | null;

  constructor(message: string, { usage = null, cause }: { usage?: TokenUse | null; cause?: unknown } = {}) {
    super(message, { cause });
    this.usage = usage;
  }
}
