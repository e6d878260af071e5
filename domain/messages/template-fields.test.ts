import { expect, test } from 'vitest';
import { unknownFields } from './template-fields.ts';

const CUSTOM = ['plan', 'renewal date'];

test.each([
  ['Hi {{ firstName }}, {{ customFields.plan }} {{ customFields["renewal date"] }}', []],
  ['{% assign city = "Rome" %}{{ city }} {% for x in (1..3) %}{{ x }}{% endfor %} {{ firstName.size }}', []],
  ['Hi {{ first_name }}', [['first_name', 'firstName']]],
  ['{{ contactOwnerEmail }} {{ timezone }} {{ owner }}', [['owner', 'contactOwnerEmail']]],
  ['Hi {{ FirstName | upcase }}', [['FirstName', 'firstName']]],
  ['Hi {{ fristName | default: "you" }}', [['fristName', 'firstName']]],
  ['{{ company }}', [['company', 'companyName']]],
  [
    '{{ surname }} {{ zodiac }}',
    [
      ['surname', 'lastName'],
      ['zodiac', null],
    ],
  ],
  ['{% if plan == "pro" %}x{% endif %}', [['plan', 'customFields.plan']]],
  ['{{ customFields.paln }}', [['customFields.paln', 'customFields.plan']]],
  ['{{ customFields.firstname }}', [['customFields.firstname', 'firstName']]],
  ['{{ broken', []],
  ['no template', []],
])('%j', (text, found) => {
  expect(unknownFields(text, CUSTOM).map(({ name, suggestion }) => [name, suggestion])).toEqual(found);
});

test('custom fields that are not known are not judged', () => {
  expect(unknownFields('{{ customFields.any }} {{ fisrtName }}', null)).toEqual([
    { name: 'fisrtName', suggestion: 'firstName' },
  ]);
});

test('many and long names are cut short', () => {
  const text = Array.from({ length: 500 }, (_, index) => `{{ unknown${index} }}`).join('');
  expect(unknownFields(text, CUSTOM)).toHaveLength(10);
  expect(unknownFields(`{{ ${'a'.repeat(5000)} }}`, CUSTOM)).toEqual([
    { name: 'a'.repeat(100), suggestion: null },
  ]);
});
