import { type FragmentSqlToken, sql } from 'slonik';

/** Whether a text contains another, without regard to case and accents. */
export const containsText = (text: FragmentSqlToken, searched: string): FragmentSqlToken =>
  sql.fragment`search_form(${text}) like search_pattern(${searched})`;
