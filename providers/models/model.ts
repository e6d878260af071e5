import type { DraftPrompt } from '#domain/drafts/draft-prompt.ts';

/** A language model. */
export interface Model {
  /** Recorded with each draft. */
  readonly name: string;
  /**
   * Returns the model's output, which should be JSON.
   * @throws ModelFailure, or any error once `signal` is aborted.
   */
  answer(prompt: DraftPrompt, signal: AbortSignal): Promise<ModelAnswer>;
  /** @throws ModelFailure if the endpoint does not respond or refuses the key */
  check(): Promise<void>;
}

export interface ModelAnswer {
  text: string;
  usage: TokenUse | null;
}

export interface TokenUse {
  promptTokens: number;
  completionTokens: number;
}

/** The model gave no usable output. The message is a phrase that is shown to operators. */
export class ModelFailure extends Error {
  readonly usage: TokenUse | null;

  constructor(message: string, { usage = null, cause }: { usage?: TokenUse | null; cause?: unknown } = {}) {
    super(message, { cause });
    this.usage = usage;
  }
}
