internal import Foundation
internal import SystemPackage
internal import UbiquityContainers

/// What is done to a device's files by force, while apps may write them.
enum DeviceFiles {
    /// Removes a directory with all that is in it; one that is not there is no error.
    ///
    /// - Throws: `ContainerError` where something in it cannot be removed, or comes again and again.
    static func remove(_ directory: FilePath) throws {
        var failure: (any Error)?
        // Whoever writes into it meanwhile makes it fail once.
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
            .fileSystem, "\(directory) cannot be removed: something in it is written all the time, or belongs to somebody else.", path: directory,
            cause: failure)
    }

    /// Copies a directory that may change meanwhile; what goes before it is copied is not in the copy.
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
