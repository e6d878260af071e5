/** A variable of the environment; undefined: it is unset, or empty, which counts as unset. */
export const variable = (name: string): string | undefined => process.env[name] || undefined;
