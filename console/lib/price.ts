import { plural } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { moneyOf } from './format.ts';

export type Price = NonNullable<ResponseOf<'GET /api/line-requests/prices'>['phone']['price']>;

/** $49.00 a month */
export function priceOf({ amount, currency, interval, intervalCount: count }: Price): string {
  const money = moneyOf(amount, currency);
  switch (interval) {
    case null:
      return money;
    case 'day':
      return plural(count, { one: `${money} a day`, other: `${money} every # days` });
    case 'week':
      return plural(count, { one: `${money} a week`, other: `${money} every # weeks` });
    case 'month':
      return plural(count, { one: `${money} a month`, other: `${money} every # months` });
    case 'year':
      return plural(count, { one: `${money} a year`, other: `${money} every # years` });
  }
}
