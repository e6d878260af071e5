/** What may be uploaded, and its media type. */
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

/** The media type of a file by its name; null when it may not be uploaded. */
export function mediaTypeOf(name: string): string | null {
  const extension = extensionOf(name);
  return Object.hasOwn(MEDIA_TYPES, extension) ? (MEDIA_TYPES[extension] ?? null) : null;
}

/** What files turn out to be, as `file-type` names them, by what kind of medium they are. */
const MEDIA = {
  image: 'png apng jpg gif webp heic heif avif',
  // One container holds sound or pictures and has several names.
  recording: 'mp3 mp2 mp1 m4a wav aac ogg oga opus spx caf mp4 m4v mov 3gp 3g2 webm mkv ogv ogx',
  document: 'pdf',
} as const;

const mediumOf = (extension: string): string | undefined =>
  Object.entries(MEDIA).find(([, names]) => names.split(' ').includes(extension))?.[0];

/**
 * Whether content may be uploaded by a name. The name decides over the type, and phones name a
 * PNG `photo.jpg`; what is another kind of medium, or none that is allowed, is refused.
 * @param found the content's type, as `file-type` names it.
 */
export function isContentOf(name: string, found: string): boolean {
  const medium = mediumOf(found);
  return medium !== undefined && medium === mediumOf(extensionOf(name));
}

const extensionOf = (name: string): string => /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';

export const isAudio = (contentType: string | null): boolean => contentType?.startsWith('audio/') ?? false;
