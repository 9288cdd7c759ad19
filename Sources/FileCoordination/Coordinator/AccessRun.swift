import Foundation
import SystemPackage

/// One coordinated access, from the request to the end of the claim; what the async, blocking and queue forms have in common.
struct AccessRun {
    /// An item to access.
    struct Target: Sendable {
        let location: Location
        let access: Access
        /// What the item leads to, where it is a symbolic link that is to be resolved (C-17).
        let destination: Location?

        init(_ url: URL, _ access: Access) throws(FileCoordinationError) {
            location = try Location(url)
            self.access = access
            destination = Self.destination(of: location, access)
        }

        private static func destination(of link: Location, _ access: Access) -> Location? {
            guard case .read(let options) = access, options.contains(.resolvesSymbolicLink),
                case .success(let real) = link.path.realPath(), real != link.path, let url = URL(filePath: real)
            else { return nil }
            return try? Location(url)
        }

        /// Whether the link leads elsewhere by now.
        var isOutdated: Bool { Self.destination(of: location, access)?.path != destination?.path }
    }

    let coordinator: FileCoordinator
    let targets: [Target]
    let isPreparation: Bool
    let id: ClaimID
    /// Set when the claim could be had at once.
    let immediate: Grant?

    /// Requests a claim for some items.
    ///
    /// - Throws: `userCancelled` when the coordinator is.
    init(_ coordinator: FileCoordinator, _ targets: [Target], isPreparation: Bool = false) throws {
        self.coordinator = coordinator
        self.targets = targets
        self.isPreparation = isPreparation
        let purpose = try coordinator.purposeUnlessCancelled()
        for case .read(let options) in targets.map(\.access) where options.contains(.forUploading) {
            throw FileCoordinationError(.fileSystem, "Reading for uploading is not supported yet. Read without the option, and copy the item.")
        }
        let packages = coordinator.client.filePackages
        var items: [ClaimItem] = []
        for target in targets {
            let path = target.location.path
            items.append(ClaimItem(path, target.access, packageDepths: packages.depths(above: path)))
            guard let path = target.destination?.path else { continue }
            items.append(ClaimItem(path, target.access, packageDepths: packages.depths(above: path)))
        }
        let surroundings = CoordinationContext.current?.surroundings ?? []
        (id, immediate) = coordinator.client.begin(coordinator: coordinator.number) { id in
            ClaimRequest(
                id: id, coordinator: coordinator.number, purpose: purpose, presenter: coordinator.presenter, surroundings: surroundings,
                items: items, isPreparation: isPreparation)
        }
        // A cancellation between the look at the coordinator and the request found nothing to cancel.
        if immediate == nil, coordinator.isCancelled { coordinator.client.cancel(id, as: FileCoordinationError.userCancelled) }
    }

    /// What the code in the accessor is within.
    var context: CoordinationContext { CoordinationContext(.claim(id)) }

    /// Looks at the items of a granted claim.
    ///
    /// - Returns: what the accessor gets; nil when a link has come to lead elsewhere, so that the claim is of no use and was ended.
    /// - Throws: `unusableURL` when an item has moved to where no URL leads; the claim has ended then.
    func open(_ grant: Grant) throws -> Opened? {
        guard !targets.contains(where: { $0.destination != nil && $0.isOutdated }) else {
            end([])
            return nil
        }
        var urls: [URL] = []
        var index = 0
        for target in targets {
            let location = target.destination ?? target.location
            index += target.destination == nil ? 0 : 1
            let path = grant.paths[index]
            index += 1
            guard let url = location.url(of: path) else {
                end([])
                throw FileCoordinationError(
                    .unusableURL, "\(target.location.path) was moved to \(path), which no URL can represent. Rename it to a UTF-8 name.", path: path)
            }
            urls.append(url)
        }
        let existed = grant.isObserved ? grant.paths.map(\.existsWithoutFollowing) : []
        return Opened(urls: urls, paths: grant.paths, existed: existed)
    }

    /// What an accessor works with.
    struct Opened {
        let urls: [URL]
        let paths: [FilePath]
        let existed: [Bool]
    }

    /// Ends the claim when the accessor is done.
    func close(_ opened: Opened) {
        end(zip(opened.paths, opened.existed).map { Observation(existedBefore: $1, existsAfter: $0.existsWithoutFollowing) })
    }

    private func end(_ observations: [Observation]) {
        coordinator.client.submit(.end(id, observations))
        if let presenter = coordinator.presenter { coordinator.client.readAgainURL(of: presenter) }
    }
}

extension FileCoordinator {
    /// Waits for a claim and runs an accessor in it.
    nonisolated(nonsending) func access<Value>(
        _ targets: () throws -> [AccessRun.Target], deadline: Deadline?, isPreparation: Bool = false,
        _ accessor: nonisolated(nonsending) ([URL]) async throws -> Value
    ) async throws -> Value {
        while true {
            try Task.checkCancellation()
            let run = try AccessRun(self, targets(), isPreparation: isPreparation)
            let grant: Grant
            if let immediate = run.immediate { grant = immediate } else { grant = try await client.wait(for: run.id, deadline: deadline) }
            guard let opened = try run.open(grant) else { continue }
            defer { run.close(opened) }
            return try await CoordinationContext.$current.withValue(run.context) { try await accessor(opened.urls) }
        }
    }

    /// The same, blocking the calling thread.
    func accessBlocking<Value>(
        _ targets: () throws -> [AccessRun.Target], isPreparation: Bool = false, _ accessor: ([URL]) throws -> Value
    ) throws -> Value {
        while true {
            let run = try AccessRun(self, targets(), isPreparation: isPreparation)
            let grant = try run.immediate ?? client.waitBlocking(for: run.id)
            guard let opened = try run.open(grant) else { continue }
            defer { run.close(opened) }
            return try CoordinationContext.$current.withValue(run.context) { try accessor(opened.urls) }
        }
    }
}
