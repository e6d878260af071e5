import { z } from 'zod';
import { normalize } from '../base/text.ts';
import { optOutSuspicion } from '../contacts/doubtful-opt-out.ts';
import { isOpen, OpeningHours } from '../inbox/opening-hours.ts';
import { DraftTag, type HandOver, HandOverReason, type Sentiment } from './ai-draft.ts';

/** What the autopilot may do. What is outside becomes a draft for a person. */
export const Autopilot = z
  .object({
    minConfidence: z.number().min(0).max(1).default(0.85),
    maxPerDay: z.int().min(1).max(500).default(50).meta({
      description: "In the workspace's time zone.",
    }),
    maxPerConversation: z.int().min(1).max(50).default(6).meta({
      description: 'Until the conversation is closed.',
    }),
    hours: OpeningHours.shape.hours.optional().meta({
      description: "When it may answer, in the workspace's time zone. Default: always.",
    }),
    tags: z.array(DraftTag).max(20).default([]).meta({
      description:
        'It answers only what the model gives no other tags. Empty: all but what `handOver` names.',
    }),
    handOver: z
      .array(HandOverReason)
      .max(20)
      .default([...HandOverReason.options])
      .meta({
        description: 'What a person answers.',
      }),
  })
  .meta({ id: 'Autopilot' });
export type Autopilot = z.output<typeof Autopilot>;

/** The source of its messages, and who resolved its drafts. */
export const AUTOPILOT = 'autopilot';

/**
 * What a contact writes that a person should answer, in the languages of most users, without accents. Rules, because the model can be
 * talked out of its judgment by the text that it judges.
 */
const WORDS: Record<Extract<HandOver, 'asks_for_person' | 'price' | 'legal'>, RegExp> = {
  asks_for_person:
    /\b(?:human|real person|actual person|someone|somebody|agent|representative|manager|supervisor|operator|your boss|call me|phone me|(?:is|are) (?:this|you|u) (?:a |an )?(?:bot|robot|ai|machine|real|automated)|chatbot|mensch|mitarbeiter\w*|vorgesetzt\w*|chef|ruft? mich|rufen sie mich|personne reelle|humain|conseiller|responsable|rappele[zr]|persona real|humano|agente|encargad\w+|gerente|llam[ae]me|una persona|pessoa|atendente|liguem?|operatore|persona vera|richiam\w+|medewerker|mens|bel me)\b/u,
  price:
    /\b(?:price\w*|pricing|cost\w*|how much|discount\w*|refund\w*|quote|quotation|invoice\w*|fee|fees|expensive|cheap\w*|deposit|negotiab\w*|preis\w*|kosten?|kostet|rabatt\w*|teuer|wie ?viel|erstattung|rechnung|prix|cout\w*|combien|remise|rembours\w*|facture|devis|precio\w*|cuanto|cuesta\w*|descuento\w*|reembolso\w*|factura|preco\w*|quanto|custa\w*|desconto\w*|prezzo|prezzi|costo|costa|sconto|rimborso|prijs|prijzen|hoeveel|korting|terugbetal\w*)\b|[$€£¥₹]\s*\d|\d\s*(?:[$€£¥₹]|(?:usd|eur|gbp|dollars?|euros?|bucks)\b)/u,
  legal:
    /\b(?:lawyer\w*|attorney\w*|legal\w*|illegal\w*|lawsuit\w*|law|sue|suing|court|police|gdpr|ccpa|tcpa|hipaa|data protection|privacy|complaint\w*|contract\w*|liab\w+|warrant\w*|compensat\w+|anwalt\w*|anwalt|rechtlich\w*|klage\w*|verklag\w*|gericht\w*|dsgvo|datenschutz|anzeige|vertrag\w*|haftung|avocat\w*|juridique\w*|tribunal|porter plainte|rgpd|contrat\w*|abogad\w+|demand\w+|juzgado|denunci\w+|contrato\w*|advogad\w+|processar|avvocat\w+|querela|contratto|advocaat|rechter|rechtszaak|avg)\b/u,
};

/** Texts that instruct the model, in the same form. Whoever writes them may talk it into an answer that no other rule looks for. */
const INSTRUCTIONS: readonly RegExp[] = [
  /\b(?:ignor\w*|disregard|forget|override|bypass|obey|follow it|vergiss|missachte|oublie[zr]?|olvida|esquec\w+|dimentica|negeer|vergeet)\b[^.!?\n]{0,40}\b(?:me|above|everything|what you|instruct\w*|rules?|guidelines?|prompts?|documents?|commands?|anweisung\w*|regeln|consignes|regles|instruc\w+|reglas|regras|istruzioni|regole|regels)\b/u,
  /\b(?:(?:new|your|previous|secret) (?:instructions?|rules|guidelines|prompt|developer)|(?:system|developer|debug) (?:prompt|mode|message)|language model|if you are an? (?:ai|bot)|autopilot|copilot|confidence|(?:send|approve) (?:this|the|everything|all)\b[^.!?\n]{0,20}\b(?:draft|review\w*|everything)|approve everything|text above|i order you|from now on|new task|as an? (?:ai|assistant|bot)|pretend|act (?:as|like)|as if you (?:were|are)|you are an? \w+ now|(?:print|output|reveal|show|repeat|display) (?:your|the|all|everything)\b[^.!?\n]{0,30}\b(?:context|above|before|verbatim|instructions|prompt)|write (?:me )?(?:a |an |some )?(?:\w+ )?(?:code|poem|essay|story|script)|(?:answer|reply|respond) (?:only )?(?:with|in base64)|(?:call|run|execute) the (?:function|tool|command)|action: ?[a-z]+|send messages yourself|you are (?:now|no longer)|reply stop to)\b/u,
  /(?:^|\n)\W{0,8}(?:system|assistant|instructions?|human|role)\b[^\n]{0,10}:/u,
  // Code, and how programs mark who speaks.
  /<\/?[a-z_|]{2,20}\|?>|\[\/?inst\]|<<|\{[{%]|"\s?[:}]|```|\/api\/|\w\(\w{0,30}=|';|\bsimulate:/u,
  // A text in a code, or with characters that hide what it says.
  /^\s*[a-z\d+/]{24,}={0,2}\s*$/u,
  /[\u200B\u202D\u202E\u2060]/u,
];

/** In characters of what the contact wrote since the last answer. */
const MAX_JUDGED = 8000;

/** As the words are written: in lower case and without accents. */
const plainText = (text: string): string =>
  normalize(text, 'NFD', MAX_JUDGED).replaceAll(/\p{M}/gu, '').toLowerCase();

/** What the autopilot knows of a draft. */
export interface Judged {
  draft: {
    confidence: number;
    tags: readonly DraftTag[];
    sentiment: Sentiment;
    handOver: readonly HandOver[];
  };
  /** What the contact wrote since the last answer. */
  texts: readonly string[];
  sentToday: number;
  sentInConversation: number;
  /** A person has answered since the conversation was last closed. */
  isTakenOver: boolean;
  timezone: string;
}

/** Why a person has to decide, in the order of what they should know first. */
export const HeldBackBy = z
  .enum([
    'taken_over',
    ...HandOverReason.options,
    'instructs_model',
    'confidence',
    'tags',
    'hours',
    'conversation_limit',
    'day_limit',
    'cannot_send',
  ])
  .meta({
    id: 'HeldBackBy',
    description:
      'Why the autopilot left the draft to a person: `taken_over`, because a person answered; a reason of `handOver`; `instructs_model`, because the contact seems to write to the model; a limit of `autopilot`; or `cannot_send`, because the workspace may not send.',
  });
export type HeldBackBy = z.infer<typeof HeldBackBy>;

/** @returns null if the autopilot may send the draft. */
export function heldBackBy(settings: Autopilot, judged: Judged, now: Date): HeldBackBy | null {
  if (judged.isTakenOver) return 'taken_over';
  const reasons = reasonsOf(judged);
  const handedOver = HandOverReason.options.find(
    (reason) => reasons.has(reason) && settings.handOver.includes(reason),
  );
  if (handedOver) return handedOver;
  if (judged.texts.some(instructsModel)) return 'instructs_model';
  const { confidence, tags } = judged.draft;
  if (confidence < settings.minConfidence) return 'confidence';
  if (settings.tags.length > 0 && !tags.every((tag) => settings.tags.includes(tag))) return 'tags';
  if (settings.hours && !isOpen({ hours: settings.hours, closedOn: [] }, judged.timezone, now))
    return 'hours';
  if (judged.sentInConversation >= settings.maxPerConversation) return 'conversation_limit';
  return judged.sentToday >= settings.maxPerDay ? 'day_limit' : null;
}

function instructsModel(text: string): boolean {
  const plain = plainText(text);
  return INSTRUCTIONS.some((pattern) => pattern.test(plain));
}

/** What the model and the rules find. Neither outvotes the other. */
function reasonsOf({ draft, texts }: Judged): ReadonlySet<HandOver> {
  const reasons = new Set<HandOver>(draft.handOver);
  if (draft.tags.includes('objection') || draft.tags.includes('not_interested')) reasons.add('objection');
  if (draft.tags.includes('wrong_person')) reasons.add('wrong_person');
  if (draft.tags.includes('call_back')) reasons.add('asks_for_person');
  if (draft.sentiment === 'negative') reasons.add('negative');
  const plain = plainText(texts.join('\n'));
  for (const [reason, words] of Object.entries(WORDS)) if (words.test(plain)) reasons.add(reason as HandOver);
  if (texts.some((text) => optOutSuspicion(text) !== 'none')) reasons.add('opt_out_doubt');
  return reasons;
}
