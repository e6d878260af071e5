/** The package ships no types; this is what is used of it. */
declare module 'html-to-text' {
  export function convert(html: string, options: object): string;
}
