/** The package has no types; these are the parts that we use. */
declare module 'html-to-text' {
  export function convert(html: string, options: object): string;
}
