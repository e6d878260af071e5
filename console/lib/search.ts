import { useNavigate, useSearch } from '@tanstack/react-router';

/** What stands in the query of a page's address: texts, never parsed. */
export type Search = Record<string, string>;

export const parseSearch = (text: string): Search => Object.fromEntries(new URLSearchParams(text));

export function stringifySearch(search: object): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given as [string, string][]).toString();
  return text === '' ? '' : `?${text}`;
}

/**
 * A filter or a choice of a page that stays in its address, so that it survives a reload and can be sent to somebody:
 * `const [status, setStatus] = useSearchParam('status')`. Empty texts are left out.
 */
export function useSearchParam(name: string): [string, (value: string) => void] {
  const search: Search = useSearch({ strict: false });
  const change = useSearchChange();
  return [search[name] ?? '', (value) => change({ [name]: value })];
}

/** Changes several of them at once: `change({ from, to })`. The others stay as they are. */
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

/** The open tab of a page. To open another clears the rest of the query, which belongs to the tab before. */
export function useTabParam(): [string, (tab: string) => void] {
  const { tab = '' }: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  return [tab, (next) => void navigate({ to: '.', search: { tab: next }, replace: true } as never)];
}
