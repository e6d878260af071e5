import { i18n, type Messages } from '@lingui/core';
import type { Catalog } from '#console/catalogs.ts';

/** The languages of the console, each by its own name. */
export const LOCALES = { en: 'English', es: 'Español' };
export type Locale = keyof typeof LOCALES;

const STORED = 'linepace.locale';

const isLocale = (name: string | null): name is Locale => name !== null && Object.hasOwn(LOCALES, name);

/** The chosen one, or the first that the browser prefers and the console has. */
function preferredLocale(): Locale {
  try {
    const stored = localStorage.getItem(STORED);
    if (isLocale(stored)) return stored;
  } catch {
    // Storage is blocked: the browser's languages.
  }
  return navigator.languages.map(languageOf).find(isLocale) ?? 'en';
}

/** Some browsers name something that is not a language tag, such as `en-US@posix`. */
function isTag(name: string): boolean {
  try {
    return new Intl.Locale(name).language !== '';
  } catch {
    return false;
  }
}

const languageOf = (tag: string): string => tag.split('-')[0] ?? '';

export const locale: Locale = preferredLocale();

/** For dates and numbers: with the region that the browser names, such as `en-GB`. */
export const formatLocale: string =
  navigator.languages.find((tag) => languageOf(tag) === locale && isTag(tag)) ?? locale;

/** Texts are loaded for one language, so another one reloads the page. */
export function changeLocale(next: Locale): void {
  localStorage.setItem(STORED, next);
  location.reload();
}

const CATALOGS = import.meta.glob<{ messages: Messages }>('../locales/*/*.po');

/** Loads texts before the components that show them. */
export async function loadCatalogs(names: readonly Catalog[]): Promise<void> {
  const loaded = await Promise.all(
    names.map((name) => {
      const load = CATALOGS[`../locales/${locale}/${name}.po`];
      if (!load) throw new Error(`There is no catalog ${locale}/${name}`);
      return load();
    }),
  );
  for (const { messages } of loaded) i18n.load(locale, messages);
}

/** Loads what every page shows, and makes the language that of the document. */
export async function activateLocale(): Promise<void> {
  await loadCatalogs(['shell']);
  i18n.activate(locale);
  document.documentElement.lang = locale;
}
