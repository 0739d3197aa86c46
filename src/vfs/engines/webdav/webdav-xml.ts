/** What a WebDAV server says of its files, as XML, read strictly: elements by their local names, no document types, no entities but XML's own. Pure. */
import { failure } from '../../failure.js';

export interface XmlElement {
  readonly name: string;
  readonly children: XmlElement[];
  text: string;
}

const token =
  /<\?[^>]*\?>|<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|<(\/?)([^\s<>/!?]+)(?=[\s/>])((?:[^<>"']|"[^"]*"|'[^']*'){0,65536}?)(\/?)>|([^<]+)/y;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const deepest = 64;

/** EIO where it is no XML that we read. */
export function parseXml(text: string): XmlElement {
  const root: XmlElement = { name: '', children: [], text: '' };
  const open: XmlElement[] = [root];
  const source = text.replace(/^\ufeff/, '');
  token.lastIndex = 0;
  for (let at = 0; at < source.length; at = token.lastIndex) {
    token.lastIndex = at;
    const found = token.exec(source);
    if (found === null) throw unreadable();
    const [, data, closing, name, , empty, between] = found;
    const here = open.at(-1) ?? root;
    if (data !== undefined) here.text += data;
    else if (between !== undefined) here.text += decoded(between);
    else if (name !== undefined && closing === '/') {
      if (open.length < 2 || here.name !== localName(name)) throw unreadable();
      open.pop();
    } else if (name !== undefined) {
      const element: XmlElement = { name: localName(name), children: [], text: '' };
      here.children.push(element);
      if (empty !== '/') open.push(element);
      if (open.length > deepest) throw unreadable();
    }
  }
  const [element] = root.children;
  if (open.length !== 1 || element === undefined) throw unreadable();
  return element;
}

export function childrenOf(element: XmlElement | undefined, name: string): readonly XmlElement[] {
  return (element?.children ?? []).filter((child) => child.name === name);
}

export function childOf(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return childrenOf(element, name)[0];
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(\w+));/g, (_, decimal, hexadecimal, name: string) => {
    const point = decimal !== undefined ? Number(decimal) : Number.parseInt(hexadecimal ?? '', 16);
    const found = name === undefined ? (point <= 0x10ffff ? String.fromCodePoint(point) : undefined) : entities[name];
    if (found === undefined) throw unreadable();
    return found;
  });
}

function unreadable() {
  return failure('EIO', 'webdav', undefined, 'its server answered with something that is not the XML of WebDAV');
}
