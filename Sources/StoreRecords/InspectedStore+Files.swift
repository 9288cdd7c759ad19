internal import Foundation
package import SystemPackage
internal import UbiquityContainers

extension InspectedStore {
    /// Returns the store files at a path: one for each account, local ones, and those that were moved aside.
    ///
    /// - Parameter path: the path that an app gave its store, where its former plain database may still exist; or a
    ///   directory with stores; or a store file itself.
    /// - Returns: the SQLite files, sorted; empty if there are none.
    package static func files(at path: FilePath) -> [FilePath] {
        var isDirectory: ObjCBool = false
        let isThere = FileManager.default.fileExists(atPath: path.string, isDirectory: &isDirectory)
        let support = supportDirectory(of: path, isDirectory: isDirectory.boolValue)
        // <peer>/<content>/<kind>/<file>
        let found = (FileManager.default.enumerator(atPath: support.string)?.allObjects as? [String] ?? []).map { FilePath($0) }
        let files = found.filter { file in
            let name = file.lastComponent?.string ?? ""
            guard file.components.count == 4, isDirectory.boolValue || name == path.lastComponent?.string else { return false }
            // SQLite's and the store's other files have longer names that begin like the store file's.
            return !["-wal", "-shm", "-journal", "-open", "-exchange", "-use"].contains { name.hasSuffix($0) }
                && (try? LinuxFileLayer().kind(of: support.appending(file.components))) == .file
        }.map { support.appending($0.components) }.sorted { $0.string < $1.string }
        guard isThere, !isDirectory.boolValue else { return files }
        return files.isEmpty || !isForeign(path) ? [path] : files
    }

    /// Returns the directory of the store files that a path means.
    static func supportDirectory(of path: FilePath, isDirectory: Bool) -> FilePath {
        guard isDirectory else { return StoreFile.supportDirectory(of: path) }
        return path.lastComponent?.string == StoreFile.supportDirectoryName ? path : path.appending(StoreFile.supportDirectoryName)
    }
}
