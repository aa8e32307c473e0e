/** The version of the workspace's API that is spoken. */
export const NOTION_HEADERS: Readonly<Record<string, string>> = { "notion-version": "2022-06-28" };
