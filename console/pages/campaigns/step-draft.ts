import type { CampaignBody, Step } from './campaign.ts';

/** A step as it is being written: numbers are texts until they are saved. */
export interface StepDraft {
  key: string;
  messageType: Step['messageType'];
  subject: string;
  message: string;
  days: string;
  hours: string;
  minutes: string;
  /** What the form does not show: it stays as it is. */
  rest: Partial<Step>;
}

export const NEW_STEP = (): StepDraft => ({
  key: crypto.randomUUID(),
  messageType: 'imessage',
  subject: '',
  message: '',
  days: '',
  hours: '',
  minutes: '',
  rest: {},
});

const textOf = (amount: number | undefined): string => (amount ? String(amount) : '');

export const draftOf = ({ messageType, subject, message, delay, ...rest }: Step): StepDraft => ({
  key: crypto.randomUUID(),
  messageType,
  subject: subject ?? '',
  message,
  days: textOf(delay.days),
  hours: textOf(delay.hours),
  minutes: textOf(delay.minutes),
  rest,
});

export function stepOf({
  messageType,
  subject,
  message,
  days,
  hours,
  minutes,
  rest,
}: StepDraft): CampaignBody['steps'][number] {
  const delay = { days: Number(days), hours: Number(hours), minutes: Number(minutes) };
  return {
    ...rest,
    messageType,
    message,
    delay,
    ...(messageType === 'email' && subject !== '' && { subject }),
  };
}
