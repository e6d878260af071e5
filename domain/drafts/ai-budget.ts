/** What a workspace may have the language model do in a day, in its time zone. */
export interface ModelBudget {
  /** Tokens. */
  perDay: number;
  used: number;
  isTest: boolean;
}

/** Of a workspace that is gone. */
export const emptyBudget: ModelBudget = { perDay: 0, used: 0, isTest: false };

export const isExhausted = ({ perDay, used }: Pick<ModelBudget, 'perDay' | 'used'>): boolean =>
  used >= perDay;

/** Why nothing is written. It is shown with the conversation. */
export const EXHAUSTED = "the day's budget for the language model is used up";

/** Further replies of a contact within an hour get no draft: a person, or a program, may write as fast as it likes. */
export const DRAFTS_PER_HOUR = 6;
export const TOO_MANY_DRAFTS = `a contact gets at most ${DRAFTS_PER_HOUR} drafts an hour`;
