import type { UploadedFile } from '#console/components/attachments.tsx';
import type { Step } from './campaign.ts';

/** A step as it is being written: numbers are texts until they are saved. */
export interface StepDraft {
  key: string;
  messageType: Step['messageType'];
  subject: string;
  message: string;
  days: string;
  hours: string;
  minutes: string;
  files: UploadedFile[];
  smsFallbackEnabled: boolean;
  /** Empty: the same text. */
  smsFallbackMessage: string;
  /** A/B texts, at least two; none: the message is sent. */
  variants: VariantDraft[];
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

export const NEW_STEP = (): StepDraft => ({
  key: crypto.randomUUID(),
  messageType: 'imessage',
  subject: '',
  message: '',
  days: '',
  hours: '',
  minutes: '',
  files: [],
  smsFallbackEnabled: false,
  smsFallbackMessage: '',
  variants: [],
});

const textOf = (amount: number | undefined): string => (amount ? String(amount) : '');

/** The name of an uploaded file ends its address. */
const fileOf = (url: string): UploadedFile => ({
  url,
  name: decodeURIComponent(URL.parse(url)?.pathname.split('/').at(-1) ?? url),
});

export const draftOf = (step: Step): StepDraft => ({
  key: crypto.randomUUID(),
  messageType: step.messageType,
  subject: step.subject ?? '',
  message: step.message,
  days: textOf(step.delay.days),
  hours: textOf(step.delay.hours),
  minutes: textOf(step.delay.minutes),
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

export const stepOf = ({
  messageType,
  subject,
  message,
  days,
  hours,
  minutes,
  files,
  smsFallbackEnabled,
  smsFallbackMessage,
  variants,
}: StepDraft) => ({
  messageType,
  message,
  delay: { days: Number(days), hours: Number(hours), minutes: Number(minutes) },
  attachmentUrls: files.map(({ url }) => url),
  ...(messageType === 'email' && subject !== '' && { subject }),
  ...(variants.length > 0 && {
    variants: variants.map((variant) => ({
      body: variant.body,
      weight: Number(variant.weight),
      ...(messageType === 'email' && variant.subject !== '' && { subject: variant.subject }),
    })),
  }),
  ...(messageType === 'imessage' && {
    smsFallbackEnabled,
    ...(smsFallbackMessage !== '' && { smsFallbackMessage }),
  }),
});
