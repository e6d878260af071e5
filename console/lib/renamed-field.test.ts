import { expect, test } from 'vitest';
import { renamedField } from './renamed-field.ts';

test.each([
  ['Hi {{ firstname }}', 'firstname', 'firstName', 'Hi {{ firstName }}'],
  [
    'firstname {{firstname | default: "x"}} {{ firstname }}',
    'firstname',
    'firstName',
    'firstname {{firstName | default: "x"}} {{ firstName }}',
  ],
  [
    '{% if paln %}{{ customFields.paln }}{% endif %}',
    'customFields.paln',
    'customFields.plan',
    '{% if paln %}{{ customFields.plan }}{% endif %}',
  ],
  [
    '{{ customFields.name }} {{ name }} {{ names }}',
    'name',
    'firstName',
    '{{ customFields.name }} {{ firstName }} {{ names }}',
  ],
  ['{{ customFields["paln"] }}', 'customFields.paln', 'customFields.plan', '{{ customFields["paln"] }}'],
])('%s reads another field', (template, name, other, expected) => {
  expect(renamedField(template, name, other)).toBe(expected);
});
