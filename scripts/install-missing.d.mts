/** Whether what a lock wants is installed beside it. */
export function isInstalled(directory: string): boolean;
