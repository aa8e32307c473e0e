/** Installs the packages of some folders of the repository; ends the process where it fails. */
export function installPackages(folders: readonly string[], root?: string): Promise<void>;
