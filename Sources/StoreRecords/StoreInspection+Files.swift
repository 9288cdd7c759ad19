internal import Foundation
package import SystemPackage
internal import UbiquityContainers

extension StoreInspection {
    /// The store files at a path: one for each account, and those that are the device's own or lie out of the way.
    ///
    /// - Parameter path: the path that an app gave its store, where its plain database from before may lie, or a directory in which there are stores; or a store's file itself.
    /// - Returns: the SQLite files, sorted; none where there are none.
    package static func files(at path: FilePath) -> [FilePath] {
        var isDirectory: ObjCBool = false
        let isThere = FileManager.default.fileExists(atPath: path.string, isDirectory: &isDirectory)
        let support = supportDirectory(of: path, isDirectory: isDirectory.boolValue)
        // <peer>/<content>/<what it is for>/<file>
        let found = (FileManager.default.enumerator(atPath: support.string)?.allObjects as? [String] ?? []).map { FilePath($0) }
        let files = found.filter { file in
            let name = file.lastComponent?.string ?? ""
            guard file.components.count == 4, isDirectory.boolValue || name == path.lastComponent?.string else { return false }
            // What lies beside a file is called like it, and longer.
            return !["-wal", "-shm", "-journal", "-open", "-exchange", "-use"].contains { name.hasSuffix($0) }
                && (try? LinuxFileLayer().kind(of: support.appending(file.components))) == .file
        }.map { support.appending($0.components) }.sorted { $0.string < $1.string }
        guard isThere, !isDirectory.boolValue else { return files }
        return files.isEmpty || !isForeign(path) ? [path] : files
    }

    /// Where the files of stores lie that a path means.
    static func supportDirectory(of path: FilePath, isDirectory: Bool) -> FilePath {
        guard isDirectory else { return StoreFile.supportDirectory(of: path) }
        return path.lastComponent?.string == StoreFile.supportDirectoryName ? path : path.appending(StoreFile.supportDirectoryName)
    }
}
