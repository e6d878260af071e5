import { expect, test } from 'vitest';
import { sentText } from './reconciliation.ts';

test.each([
  ['the lead is as it was', 'Hi Ada', 'Hi {{firstName}}', true, 'Hi Ada'],
  ['the lead has changed', 'Hi Grace', 'Hi {{firstName}}', false, null],
  ['the text does not depend on the lead, which has changed', 'Hi', 'Hi', false, 'Hi'],
])('the text of an attempt: %s', (_, rendered, template, isSame, expected) => {
  expect(sentText(rendered, template, isSame)).toBe(expected);
});
