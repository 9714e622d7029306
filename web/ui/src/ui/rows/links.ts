// What a link in text that others wrote may lead to, and what has to be said about where it leads.

export interface Target {
  href: string;
  host: string; // what a person has to know before they follow it
}

const allowed = ["http:", "https:", "mailto:"];

// target is null for everything that is not an absolute address on the web or of mail.
export function target(href: string): Target | null {
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return null;
  }
  if (!allowed.includes(url.protocol)) return null;
  return { href: url.href, host: url.protocol === "mailto:" ? url.pathname.slice(0, 100) : url.host };
}

// says tells whether a text that is shown as a link names the host that it leads to, and no other one.
export function says(text: string, { host }: Target): boolean {
  const bare = text.trim().replace(/^(https?:\/\/|mailto:)/i, "");
  return bare.toLowerCase().startsWith(host.toLowerCase()) && /^($|[/?#])/.test(bare.slice(host.length));
}
