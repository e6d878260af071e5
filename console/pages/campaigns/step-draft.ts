import type { UploadedFile } from '#console/components/attachments.tsx';
import { type AnyStep, isMessage, type Step } from './campaign.ts';
import type { Condition } from './conditions.ts';

/** A step as it is being written: numbers are texts until they are saved. */
export type StepDraft = MessageDraft | WaitDraft | WaitUntilDraft | BranchDraft | DoDraft | EndDraft;

interface Common {
  key: string;
  /** Of a step that is saved. It stays, since leads that are under way are found by it. */
  id: string | undefined;
  /** Conditions that stop a lead in place of the step: they are made over the API, and kept. */
  stopWhen?: AnyStep['stopWhen'];
}

/** A time span as it is being written. */
export interface SpanDraft {
  days: string;
  hours: string;
  minutes: string;
}

export interface MessageDraft extends Common, SpanDraft {
  kind: 'message';
  messageType: Step['messageType'];
  subject: string;
  message: string;
  files: UploadedFile[];
  smsFallbackEnabled: boolean;
  /** Empty: the same text. */
  smsFallbackMessage: string;
  /** A/B texts, at least two; none: the message is sent. */
  variants: VariantDraft[];
}

export interface WaitDraft extends Common, SpanDraft {
  kind: 'wait';
}

export interface WaitUntilDraft extends Common, SpanDraft {
  kind: 'wait_until';
  any: readonly Condition[];
  else: 'continue' | 'end';
}

export interface BranchDraft extends Common {
  kind: 'branch';
  branches: readonly { key: string; name: string; when: readonly Condition[]; steps: readonly StepDraft[] }[];
  else: readonly StepDraft[];
}

type DoStep = Extract<AnyStep, { kind: 'do' }>;
type LeadActions = Omit<DoStep, 'kind' | 'id' | 'stopWhen' | 'webhook'>;

/** What a step or a rule changes of a contact, as it is being written. */
export interface LeadActionsDraft {
  /** One tag a line. */
  addTags: string;
  removeTags: string;
  setFields: readonly { key: string; field: string; value: string }[];
  /** Empty: the lead stays in its list. */
  moveToListId: string;
  /** Undefined: whoever it is; null: nobody. */
  assign: string | null | undefined;
  /** Empty: none. */
  enterCampaignId: string;
}

export interface DoDraft extends Common, LeadActionsDraft {
  kind: 'do';
  /** Empty: none. */
  webhook: string;
}

interface EndDraft extends Common {
  kind: 'end';
}

export interface VariantDraft {
  key: string;
  /** Empty: that of the step. */
  subject: string;
  body: string;
  weight: string;
}

export const NEW_VARIANT = (): VariantDraft => ({
  key: crypto.randomUUID(),
  subject: '',
  body: '',
  weight: '1',
});

const common = ({ id, stopWhen }: Pick<AnyStep, 'id' | 'stopWhen'> = {}): Common => ({
  key: crypto.randomUUID(),
  id,
  ...(stopWhen && { stopWhen }),
});
export const NO_TIME: SpanDraft = { days: '', hours: '', minutes: '' };

export const NEW_STEP = (): MessageDraft => ({
  ...common(),
  kind: 'message',
  messageType: 'imessage',
  subject: '',
  message: '',
  ...NO_TIME,
  files: [],
  smsFallbackEnabled: false,
  smsFallbackMessage: '',
  variants: [],
});

export const NEW_BRANCH = (name = ''): BranchDraft['branches'][number] => ({
  key: crypto.randomUUID(),
  name,
  when: [{ field: 'replied' }],
  steps: [],
});

/** A step that somebody adds. */
export function newStep(kind: StepDraft['kind'], name: string): StepDraft {
  switch (kind) {
    case 'message':
      return { ...NEW_STEP(), days: '1' };
    case 'wait':
      return { ...common(), kind, ...NO_TIME, days: '1' };
    case 'wait_until':
      return { ...common(), kind, any: [{ field: 'replied' }], ...NO_TIME, days: '3', else: 'continue' };
    case 'branch':
      return { ...common(), kind, branches: [NEW_BRANCH(name)], else: [] };
    case 'do':
      return { ...common(), kind, ...leadActionsDraftOf({}), webhook: '' };
    case 'end':
      return { ...common(), kind };
  }
}

const textOf = (amount: number | undefined): string => (amount ? String(amount) : '');

export const spanOf = ({ days, hours, minutes }: Step['delay']): SpanDraft => ({
  days: textOf(days),
  hours: textOf(hours),
  minutes: textOf(minutes),
});

export const lengthOf = ({ days, hours, minutes }: SpanDraft) => ({
  days: Number(days),
  hours: Number(hours),
  minutes: Number(minutes),
});

/** The name of an uploaded file ends its address. */
const fileOf = (url: string): UploadedFile => ({
  url,
  name: decodeURIComponent(URL.parse(url)?.pathname.split('/').at(-1) ?? url),
});

export function draftOf(step: AnyStep): StepDraft {
  if (isMessage(step)) return messageDraftOf(step);
  const shared = common(step);
  switch (step.kind) {
    case 'wait':
      return { ...shared, kind: step.kind, ...spanOf(step.for) };
    case 'wait_until':
      return { ...shared, kind: step.kind, any: step.any, ...spanOf(step.atMost), else: step.else };
    case 'branch':
      return {
        ...shared,
        kind: step.kind,
        branches: step.branches.map(({ steps, ...branch }) => ({
          ...branch,
          key: crypto.randomUUID(),
          steps: steps.map(draftOf),
        })),
        else: step.else.map(draftOf),
      };
    case 'do':
      return { ...shared, kind: step.kind, ...leadActionsDraftOf(step), webhook: step.webhook ?? '' };
    case 'end':
      return { ...shared, kind: step.kind };
  }
}

export const leadActionsDraftOf = (actions: LeadActions): LeadActionsDraft => ({
  addTags: (actions.addTags ?? []).join('\n'),
  removeTags: (actions.removeTags ?? []).join('\n'),
  setFields: Object.entries(actions.setFields ?? {}).map(([field, value]) => ({
    key: crypto.randomUUID(),
    field,
    value,
  })),
  moveToListId: actions.moveToListId ?? '',
  assign: actions.assign,
  enterCampaignId: actions.enterCampaignId ?? '',
});

const messageDraftOf = (step: Step): MessageDraft => ({
  ...common(step),
  kind: 'message',
  messageType: step.messageType,
  subject: step.subject ?? '',
  message: step.message,
  ...spanOf(step.delay),
  files: step.attachmentUrls.map(fileOf),
  smsFallbackEnabled: step.smsFallbackEnabled,
  smsFallbackMessage: step.smsFallbackMessage ?? '',
  variants: (step.variants ?? []).map(({ body, subject, weight }) => ({
    key: crypto.randomUUID(),
    subject: subject ?? '',
    body,
    weight: String(weight),
  })),
});

type Written<K> = Extract<AnyStep, { kind: K }>;

/** The step as the API takes it. */
export function stepOf(draft: StepDraft): AnyStep {
  const named = {
    ...(draft.id !== undefined && { id: draft.id }),
    ...(draft.stopWhen && { stopWhen: draft.stopWhen }),
  };
  switch (draft.kind) {
    case 'message':
      return { ...named, ...messageOf(draft) };
    case 'wait':
      return { ...named, kind: draft.kind, for: lengthOf(draft) } satisfies Written<'wait'>;
    case 'wait_until':
      return {
        ...named,
        kind: draft.kind,
        any: [...draft.any],
        atMost: lengthOf(draft),
        else: draft.else,
      } satisfies Written<'wait_until'>;
    case 'branch':
      return {
        ...named,
        kind: draft.kind,
        branches: draft.branches.map(({ name, when, steps }) => ({
          name,
          when: [...when],
          steps: steps.map(stepOf),
        })),
        else: draft.else.map(stepOf),
      };
    case 'do':
      return {
        ...named,
        kind: draft.kind,
        ...leadActionsOf(draft),
        ...(draft.webhook !== '' && { webhook: draft.webhook }),
      };
    case 'end':
      return { ...named, kind: draft.kind };
  }
}

export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

export function leadActionsOf({
  addTags,
  removeTags,
  setFields,
  moveToListId,
  assign,
  enterCampaignId,
}: LeadActionsDraft): LeadActions {
  const [added, removed] = [linesOf(addTags), linesOf(removeTags)];
  return {
    ...(added.length > 0 && { addTags: added }),
    ...(removed.length > 0 && { removeTags: removed }),
    ...(setFields.length > 0 && {
      setFields: Object.fromEntries(setFields.map(({ field, value }) => [field, value])),
    }),
    ...(moveToListId !== '' && { moveToListId }),
    ...(assign !== undefined && { assign }),
    ...(enterCampaignId !== '' && { enterCampaignId }),
  };
}

const messageOf = ({
  messageType,
  subject,
  message,
  files,
  smsFallbackEnabled,
  smsFallbackMessage,
  variants,
  ...delay
}: MessageDraft): Step => ({
  messageType,
  message,
  delay: lengthOf(delay),
  attachmentUrls: files.map(({ url }) => url),
  ...(messageType === 'email' && subject !== '' && { subject }),
  ...(variants.length > 0 && {
    variants: variants.map((variant) => ({
      body: variant.body,
      weight: Number(variant.weight),
      ...(messageType === 'email' && variant.subject !== '' && { subject: variant.subject }),
    })),
  }),
  smsFallbackEnabled: messageType === 'imessage' && smsFallbackEnabled,
  ...(messageType === 'imessage' && smsFallbackMessage !== '' && { smsFallbackMessage }),
});
