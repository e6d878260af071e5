import { type FragmentSqlToken, sql } from 'slonik';

/** `search_form`, without the call where it only lowers the case: it takes as long as the rest of a search. */
export const searchForm = (text: FragmentSqlToken): FragmentSqlToken =>
  sql.fragment`case when octet_length(${text}) = length(${text}) then lower(${text}) else search_form(${text}) end`;

/** The pattern of `like` for a searched text, made once for all rows. */
export const patternOf = (searched: string): FragmentSqlToken =>
  sql.fragment`(select search_pattern(${searched}))`;

/** Whether a text contains another, without regard to case and accents. */
export const containsText = (text: FragmentSqlToken, searched: string): FragmentSqlToken =>
  sql.fragment`${searchForm(text)} like ${patternOf(searched)}`;
