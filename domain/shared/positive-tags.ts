/** A conversation with any of these tags is positive. Compared case-insensitively. */
export const POSITIVE_TAGS = ['interested', 'to respond', 'to-answer', 'to_answer'] as const;
