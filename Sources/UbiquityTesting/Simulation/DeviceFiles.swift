internal import Foundation
internal import SystemPackage
internal import UbiquityContainers

/// Changes a device's files by force, while apps may write them.
enum DeviceFiles {
    /// Removes a directory with its contents; a missing directory is no error.
    ///
    /// - Throws: `ContainerError` when an entry cannot be removed, or keeps returning.
    static func remove(_ directory: FilePath) throws {
        var failure: (any Error)?
        // A concurrent write into the directory makes one attempt fail.
        for _ in 0..<20 {
            guard (try? LinuxFileLayer().kind(of: directory)) != nil else { return }
            do {
                return try FileManager.default.removeItem(atPath: directory.string)
            } catch {
                failure = error
            }
        }
        guard FileManager.default.fileExists(atPath: directory.string) else { return }
        throw ContainerError(
            .fileSystem, "\(directory) cannot be removed: a program keeps writing into it, or an entry belongs to another user.", path: directory,
            cause: failure)
    }

    /// Copies a directory that may change meanwhile; files that disappear before their copy are left out.
    static func copy(_ source: FilePath, to target: FilePath) throws {
        try FileManager.default.createDirectory(atPath: target.string, withIntermediateDirectories: true)
        for name in try LinuxFileLayer().names(in: source) {
            let (from, to) = (source.appending(name), target.appending(name))
            switch try LinuxFileLayer().kind(of: from) {
            case .directory: try copy(from, to: to)
            case .file:
                do {
                    try FileManager.default.copyItem(atPath: from.string, toPath: to.string)
                } catch  where (try? LinuxFileLayer().kind(of: from)) == .some(nil) {
                    try? LinuxFileLayer().remove(to)
                }
            case .other, nil: break
            }
        }
    }
}
