internal import CLinux
internal import Glibc
internal import SystemPackage
internal import UbiquityContainers

extension DocumentFile {
    /// Moves what a package holds besides its content into the package that takes its place.
    ///
    /// That is files that stay on this device, and files whose names are not UTF-8. What the new package has already stays in it.
    func carryOver(from old: FilePath, to new: FilePath) {
        guard (try? LinuxFileLayer().kind(of: old)) == .directory, (try? LinuxFileLayer().kind(of: new)) == .directory else { return }
        for name in Self.entries(of: old) {
            let (from, to) = (old.appending(name), new.appending(name))
            if let text = String(validating: name), !ForeignNames.staysHere(text) {
                carryOver(from: from, to: to)
            } else {
                // In their bytes, which need not be UTF-8.
                _ = from.withPlatformString { from in to.withPlatformString { to in clinux_rename_new(AT_FDCWD, from, AT_FDCWD, to) } }
            }
        }
    }

    /// The names in a directory, of any bytes.
    private static func entries(of directory: FilePath) -> [FilePath.Component] {
        guard let stream = directory.withPlatformString({ opendir($0) }) else { return [] }
        defer { closedir(stream) }
        var names: [FilePath.Component] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CInterop.PlatformChar.self, capacity: 256) { FilePath.Component(platformString: $0) }
            }
            if let name, name.kind == .regular { names.append(name) }
        }
        return names
    }
}
