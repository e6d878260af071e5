import { useNavigate, useSearch } from '@tanstack/react-router';

/** The query of a page's URL, as unparsed strings. */
export type Search = Record<string, string>;

export const parseSearch = (text: string): Search => Object.fromEntries(new URLSearchParams(text));

export function stringifySearch(search: object): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given as [string, string][]).toString();
  return text === '' ? '' : `?${text}`;
}

/**
 * A filter or a selection that is stored in the URL, so that it survives a reload and can be shared:
 * `const [status, setStatus] = useSearchParam('status')`. Empty strings are omitted.
 */
export function useSearchParam(name: string): [string, (value: string) => void] {
  const search: Search = useSearch({ strict: false });
  const change = useSearchChange();
  return [search[name] ?? '', (value) => change({ [name]: value })];
}

/** Changes several at once: `change({ from, to })`. The others are kept. */
export function useSearchChange(): (changes: Search) => void {
  const navigate = useNavigate();
  return (changes) => {
    void navigate({
      to: '.',
      search: ((previous: Search) => ({ ...previous, ...changes })) as never,
      replace: true,
    });
  };
}

/**
 * The open tab of a page, by the name of its parameter. Opening another tab clears the rest of the query, which belongs to the
 * previous one.
 */
export function useTabParam(name = 'tab'): [string, (tab: string) => void] {
  const { [name]: tab = '' }: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  return [tab, (next) => void navigate({ to: '.', search: { [name]: next }, replace: true } as never)];
}
