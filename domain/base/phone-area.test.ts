import { expect, test } from 'vitest';
import { phoneArea, proximity } from './phone-area.ts';

test.each([
  ['+12125550100', { country: 'US', areaCode: '212', state: 'NY' }],
  ['+13055550100', { country: 'US', areaCode: '305', state: 'FL' }],
  ['+16045550100', { country: 'CA', areaCode: '604', state: 'BC' }],
  ['+4930555010', { country: 'DE', areaCode: null, state: null }],
])('knows where %s is from', (phone, area) => expect(phoneArea(phone)).toEqual(area));

test('tells how close two numbers are', () => {
  const to = (phone: string) => proximity(phoneArea('+12125550100'), phoneArea(phone));
  expect(['+12125550111', '+15185550111', '+13055550111', '+14165550111'].map(to)).toEqual([3, 2, 1, 0]);
});
