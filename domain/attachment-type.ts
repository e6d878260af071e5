/** The allowed file extensions and their media types. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  wav: 'audio/wav',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  caf: 'audio/x-caf',
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  heic: 'image/heic',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  pdf: 'application/pdf',
};

export const ALLOWED_EXTENSIONS: readonly string[] = Object.keys(MEDIA_TYPES);

/** The media type for a file name; null if its extension is not allowed. */
export function mediaTypeOf(name: string): string | null {
  const extension = extensionOf(name);
  return Object.hasOwn(MEDIA_TYPES, extension) ? (MEDIA_TYPES[extension] ?? null) : null;
}

/** Media that may be sent, as `file-type` names them: more than the extensions, because the containers are the same. */
const ALLOWED_CONTENT = new Set(
  `png apng jpg gif webp heic heif avif
  mp3 mp2 mp1 m4a wav aac ogg oga opus spx caf mp4 m4v mov 3gp 3g2 webm mkv ogv ogx pdf`.split(/\s+/),
);

/**
 * Whether content of this type may have an allowed name. The extension decides what a file is: phones name a PNG
 * `photo.jpg`. A program never has an allowed name.
 * @param detected the content's type, as `file-type` names it.
 */
export const isAllowedContent = (detected: string): boolean => ALLOWED_CONTENT.has(detected);

const extensionOf = (name: string): string => /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';

export const isAudio = (contentType: string | null): boolean => contentType?.startsWith('audio/') ?? false;
