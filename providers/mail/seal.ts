import { type SecretBox, secretContext } from '../secret-box.ts';

/** Encrypts the data of an email, because it contains links that work without another credential. */
export const mailSeal = (secrets: SecretBox, workspaceId: string) => ({
  seal: (plain: string, mailId: string): string =>
    secrets.seal(plain, secretContext('mail', workspaceId, mailId)),
  open: (sealed: string, mailId: string): string =>
    secrets.open(sealed, secretContext('mail', workspaceId, mailId)),
});
