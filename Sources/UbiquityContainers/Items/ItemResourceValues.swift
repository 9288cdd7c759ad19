internal import FileCoordination
public import Foundation
internal import SystemPackage

/// What is known of an item without its bytes, under the names of Cocoa's `URLResourceValues`.
public struct ItemResourceValues: Sendable {
    /// How much of an item is on this device; Cocoa's `URLUbiquitousItemDownloadingStatus`.
    public struct DownloadingStatus: RawRepresentable, Hashable, Sendable {
        /// Cocoa's name.
        public let rawValue: String
        /// Makes a status from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The newest known version is here.
        public static let current = DownloadingStatus(rawValue: "NSURLUbiquitousItemDownloadingStatusCurrent")
        /// A version is here, and a newer one is known.
        public static let downloaded = DownloadingStatus(rawValue: "NSURLUbiquitousItemDownloadingStatusDownloaded")
        /// Its bytes are elsewhere.
        public static let notDownloaded = DownloadingStatus(rawValue: "NSURLUbiquitousItemDownloadingStatusNotDownloaded")
    }

    /// The item's name.
    public let name: String
    /// The size in bytes, of a package of all its files; nil for a directory.
    public let fileSize: Int64?
    /// The time of the last change of its content.
    public let contentModificationDate: Date
    /// Whether it is a directory, a package included.
    public let isDirectory: Bool
    /// Whether it is a directory that counts as one item.
    public let isPackage: Bool
    /// Whether the item is meant for the user's other devices.
    public let isUbiquitousItem: Bool
    /// The item's state as its transport tells it; `unknown` if none does.
    public let state: ItemState
    /// Whether any version of it is on this device.
    public let isHere: Bool

    /// How much of it is on this device.
    public var ubiquitousItemDownloadingStatus: DownloadingStatus? {
        if let name = state.status.downloadingStatus(isHere: isHere) { return DownloadingStatus(rawValue: name) }
        return isHere ? nil : .notDownloaded
    }
    /// Whether it is being fetched.
    public var ubiquitousItemIsDownloading: Bool { state.status == .downloading }
    /// Whether its newest version is in the cloud, or on another device.
    public var ubiquitousItemIsUploaded: Bool { [.current, .downloaded, .notDownloaded, .downloading].contains(state.status) }
    /// Whether it is being sent.
    public var ubiquitousItemIsUploading: Bool { state.status == .uploading }
    /// Whether it has versions in conflict that are not resolved.
    public var ubiquitousItemHasUnresolvedConflicts: Bool { state.status == .conflicted }
    /// Whether it never leaves this device.
    public var ubiquitousItemIsExcludedFromSync: Bool { state.status == .excluded }
    /// Why it cannot be fetched.
    public var ubiquitousItemDownloadingError: CocoaError? { [.notDownloaded, .failed].contains(state.status) ? state.status.ubiquityError : nil }
    /// Why it cannot be sent.
    public var ubiquitousItemUploadingError: CocoaError? { state.status == .waitingToUpload ? state.status.ubiquityError : nil }
    /// How far its transfer is; nil if it is not on its way.
    public var progress: TransferProgress? { state.progress }
}

extension UbiquityContainer {
    /// Returns what is known of an item, without fetching or coordinating anything.
    ///
    /// The size and the date of a document that is elsewhere are those of its newest version here known. The states come from the
    /// transfer agent, if a cloud carries the container and the agent runs.
    ///
    /// - Parameters:
    ///   - url: an item in the container.
    ///   - transport: tells the state; nil for the agent.
    /// - Returns: nil if there is no item, here or elsewhere.
    /// - Throws: `ContainerError` with `notInContainer` or `fileSystem`; `CancellationError`.
    public func resourceValues(of url: URL, transport: (any Transport)? = nil) async throws -> ItemResourceValues? {
        let item = try ItemPath.resolve(FilePath(url.path(percentEncoded: false)), in: path)
        let local = try await blocking { [files] in try Self.localValues(of: item, files) }
        guard let local else { return nil }
        var state = try await (transport ?? DirectoryTransport(self)).state(of: item)
        if transport == nil, home.usesCloud, [.unknown, .notDownloaded].contains(state.status) {
            let name = nameBelowAccount(item)
            if case .states(let states)? = try? await agent.ask(.states([name])), let told = states[name]?.state, told.status != .unknown {
                state = told
            }
        }
        return ItemResourceValues(
            name: item.lastComponent?.string ?? "", fileSize: local.size, contentModificationDate: local.modified, isDirectory: local.isDirectory,
            isPackage: local.isPackage, isUbiquitousItem: isUbiquitousItem(at: url), state: state, isHere: local.isHere)
    }

    private static func size(ofPackage directory: FilePath, _ files: any FileLayer) throws(Errno) -> Int64 {
        var size: Int64 = 0
        for name in try files.directoryNames(in: directory) ?? [] {
            let path = directory.appending(name)
            switch try files.kind(of: path) {
            case .directory: size += try self.size(ofPackage: path, files)
            case .file: size += try files.size(of: path)
            case .other, nil: continue
            }
        }
        return size
    }

    private struct LocalValues: Sendable {
        var size: Int64?
        var modified: Date
        var isDirectory: Bool
        var isPackage: Bool
        var isHere: Bool
    }

    private static func localValues(of item: FilePath, _ files: any FileLayer) throws(ContainerError) -> LocalValues? {
        do {
            if let facts = try FileFacts(of: item) {
                let isDirectory = facts.kind == .directory
                let isPackage = isDirectory && FileCoordinator.filePackages.contains(item)
                return LocalValues(
                    size: isPackage ? try size(ofPackage: item, files) : isDirectory ? nil : facts.size, modified: facts.modificationDate,
                    isDirectory: isDirectory, isPackage: isPackage, isHere: true)
            }
        } catch {
            throw ContainerError(
                .fileSystem, "\(item) cannot be looked up; check the owner and mode of the directories above it.", path: item, cause: error)
        }
        return Placeholder.standing(for: item).map {
            LocalValues(size: $0.size, modified: $0.modified, isDirectory: $0.isPackage, isPackage: $0.isPackage, isHere: false)
        }
    }
}
