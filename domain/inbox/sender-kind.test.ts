import { expect, test } from 'vitest';
import { fitsChannel } from './sender-kind.ts';

test.each([
  ['+14155550123', 'imessage sms'],
  ['+5215587654321', 'imessage sms'],
  ['72975', 'sms'],
  ['acme', 'sms'],
  ['Müller GmbH', 'sms'],
  ['ada@contact.example', 'imessage email'],
  ['josé@contact.example', 'imessage email'],
  ['acme international', ''],
  ['+1415555 0123', ''],
  ['<+14155550123>', ''],
  ['ada@', ''],
  ['', ''],
])('%j can write on: %s', (sender, channels) => {
  const fitting = (['imessage', 'sms', 'email'] as const).filter((channel) => fitsChannel(channel, sender));
  expect(fitting.join(' ')).toBe(channels);
});
