import { z } from 'zod';
import { firstOf } from '#domain/base/bounded-schema.ts';
import { parseUntrustedJson } from '#domain/base/untrusted-json.ts';
import type { Model } from './model.ts';

export const SIMULATED_MODEL = 'simulated';

/** The user message of a personalization. */
const RewriteData = z.object({
  message: z.string(),
  contact: z.object({ firstName: z.string() }).nullable(),
});
/** The user message of a draft. */
const DraftData = z.object({
  contact: z.string(),
  conversation: firstOf(z.object({ from: z.enum(['contact', 'us']), text: z.string() }), 100),
  unwanted: firstOf(z.string(), 100).default([]),
});
/** The user message of the question whether replies ask to be left alone. */
const VerdictData = z.object({
  replies: firstOf(z.string(), 100).refine((replies) => replies.length > 0),
});

/** The user message of the question when somebody is back. */
const ReturnData = z.object({ automaticReply: z.string(), receivedOn: z.string() });

/** What a contact wrote that the model judges. */
export const textsToJudge = (data: unknown): string[] => [
  ...(VerdictData.safeParse(data).data?.replies ?? []),
  ReturnData.safeParse(data).data?.automaticReply ?? '',
];

/** An estimate, for the token counts in responses. */
export const CHARACTERS_PER_TOKEN = 4;

/** What the simulated model answers to the data of a prompt, by a few words as a stand-in for understanding. */
export function simulatedOutput(data: unknown): object {
  const verdict = VerdictData.safeParse(data);
  if (verdict.success) return verdictOf(verdict.data);
  const away = ReturnData.safeParse(data);
  if (away.success) return returnOf(away.data);
  const rewrite = RewriteData.safeParse(data);
  return rewrite.success ? rewriteOf(rewrite.data) : draftOf(DraftData.parse(data));
}

/** The model of test mode, in this process: it costs nothing, and answers the same each time. */
export const simulatedModel = (): Model => ({
  name: SIMULATED_MODEL,
  check: async () => {},
  async answer({ instructions, data }) {
    const text = JSON.stringify(simulatedOutput(parseUntrustedJson(data)));
    const promptTokens = Math.ceil((instructions.length + data.length) / CHARACTERS_PER_TOKEN);
    return { text, usage: { promptTokens, completionTokens: Math.ceil(text.length / CHARACTERS_PER_TOKEN) } };
  },
});

const rewriteOf = ({ message, contact }: z.infer<typeof RewriteData>) => ({
  message: `${message} (Written for ${contact?.firstName || 'you'}.)`,
});

/** By a few words, as a stand-in for understanding. */
function verdictOf({ replies }: z.infer<typeof VerdictData>) {
  const text = replies.join(' ');
  if (/ignore|instruction|verdict/i.test(text))
    return { verdict: 'unsure', confidence: 0.5, reason: 'unclear' };
  if (/\b(go away|who gave you|sold|had enough)\b/i.test(text))
    return { verdict: 'opt_out', confidence: 0.9, reason: 'asks_to_stop' };
  return { verdict: 'not_opt_out', confidence: 0.9, reason: 'about_something_else' };
}

/** Understands “5 sleeps”, which no rule does. */
function returnOf({ automaticReply, receivedOn }: z.infer<typeof ReturnData>) {
  const nights = /(\d+) sleeps/.exec(automaticReply)?.[1];
  const day = new Date(Date.parse(receivedOn) + Number(nights ?? 0) * 86_400_000);
  return { returnsOn: nights === undefined ? null : day.toISOString().slice(0, 10), confidence: 0.9 };
}

/** Quotes the contact's last message; derives tags and sentiment from keywords. */
function draftOf(data: z.infer<typeof DraftData>) {
  const question = data.conversation.findLast(({ from }) => from === 'contact')?.text ?? '';
  const excerpt = question.replaceAll(/\s+/g, ' ').trim().slice(0, 80);
  const wants = /\b(interested|yes|sure|great|love|tell me more|sounds good)\b/i.test(question);
  const declines = /\b(not interested|no thanks|stop|leave me|never)\b/i.test(question);
  const tags = [
    ...(declines ? ['not_interested'] : wants ? ['interested'] : []),
    ...(question.includes('?') ? ['question'] : []),
  ];
  return {
    draft: `${data.unwanted.length === 0 ? '' : `Version ${data.unwanted.length + 1}. `}Thank you for your message, ${data.contact}. About "${excerpt}": we will gladly help. When may we call you?`,
    confidence: wants || declines ? 0.9 : 0.6,
    tags,
    sentiment: declines ? 'negative' : wants ? 'positive' : 'neutral',
  };
}
