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

/** Detected extensions (as `file-type` names them) by kind of medium. */
const MEDIA = {
  image: 'png apng jpg gif webp heic heif avif',
  // The same containers hold audio or video.
  recording: 'mp3 mp2 mp1 m4a wav aac ogg oga opus spx caf mp4 m4v mov 3gp 3g2 webm mkv ogv ogx',
  document: 'pdf',
} as const;

const mediumOf = (extension: string): string | undefined =>
  Object.entries(MEDIA).find(([, names]) => names.split(' ').includes(extension))?.[0];

/**
 * Whether the content is of the same kind of medium as the name says. The exact type may differ: phones name a PNG
 * `photo.jpg`.
 * @param detected the content's type, as `file-type` names it.
 */
export function contentMatchesName(name: string, detected: string): boolean {
  const medium = mediumOf(detected);
  return medium !== undefined && medium === mediumOf(extensionOf(name));
}

const extensionOf = (name: string): string => /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';

export const isAudio = (contentType: string | null): boolean => contentType?.startsWith('audio/') ?? false;
