import Foundation
import Logging
import SystemPackage

/// One coordinated access, from the request to the end of the claim; the async, blocking and queue forms share it.
struct AccessRun: Sendable {
    /// An item to access.
    struct Target: Sendable {
        let location: Location
        let access: Access
        /// The destination of a symbolic link that must be resolved.
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

        /// Whether the accessor reads the item's bytes, which are brought here first.
        var readsBytes: Bool {
            guard case .read(let options) = access else { return false }
            return !options.contains(.immediatelyAvailableMetadataOnly)
        }

        var isForUploading: Bool {
            guard case .read(let options) = access else { return false }
            return options.contains(.forUploading)
        }

        /// Whether the link has another destination now.
        var isOutdated: Bool { Self.destination(of: location, access)?.path != destination?.path }
    }

    let coordinator: FileCoordinator
    let targets: [Target]
    let isPreparation: Bool
    /// The context of the request.
    private let outer: CoordinationContext?
    let id: ClaimID
    /// The grant, if the claim was granted at once.
    let immediate: Grant?

    /// Requests a claim for items.
    ///
    /// - Throws: `CocoaError.userCancelled` when the coordinator is cancelled.
    init(_ coordinator: FileCoordinator, _ targets: [Target], isPreparation: Bool = false, outer: CoordinationContext? = .current) throws {
        self.coordinator = coordinator
        self.targets = targets
        self.isPreparation = isPreparation
        self.outer = outer
        let purpose = try coordinator.purposeUnlessCancelled()
        let packages = coordinator.client.filePackages
        var items: [ClaimItem] = []
        for target in targets {
            let path = target.location.path
            items.append(ClaimItem(path, target.access, packageDepths: packages.depths(above: path)))
            guard let path = target.destination?.path else { continue }
            items.append(ClaimItem(path, target.access, packageDepths: packages.depths(above: path)))
        }
        let surroundings = outer?.surroundings ?? []
        (id, immediate) = try coordinator.client.begin(coordinator: coordinator.number) { id in
            ClaimRequest(
                id: id, coordinator: coordinator.number, purpose: purpose, presenter: coordinator.presenter, surroundings: surroundings,
                items: items, isPreparation: isPreparation)
        }
        // A cancellation between the check of the coordinator and the request found no claim to cancel.
        if immediate == nil, coordinator.isCancelled { coordinator.client.cancel(id, as: CocoaError.coordinatorCancelled) }
    }

    /// The context of the code in the accessor.
    ///
    /// After the claim has ended, as it has for a snapshot, the code has only the outer context.
    var context: CoordinationContext? { isForUploadingOnly ? outer : CoordinationContext(.claim(id), purpose: coordinator.purpose, outer: outer) }

    /// Whether the claim is needed only while the items are copied.
    var isForUploadingOnly: Bool { !isPreparation && targets.allSatisfy(\.isForUploading) }

    /// Resolves the items of a granted claim.
    ///
    /// - Returns: the accessor's items; nil if a link now has another destination, so that the claim was useless and
    ///   was ended.
    /// - Throws: `unusableURL` when no URL can represent an item's new path; the claim has then ended.
    func open(_ grant: Grant) throws -> Opened? {
        guard !targets.contains(where: { $0.destination != nil && $0.isOutdated }) else {
            end([])
            return nil
        }
        var urls: [URL] = []
        var places: [FilePath] = []
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
            places.append(path)
        }
        coordinator.client.logger.trace("\(isPreparation ? "preparing" : "accessing") \(words(of: grant.paths)) for \(coordinator.purpose)")
        let existed = grant.isObserved ? grant.paths.map(\.existsWithoutFollowing) : []
        return Opened(urls: urls, places: places, paths: grant.paths, existed: existed, isPresented: grant.isPresented)
    }

    private func words(of paths: [FilePath]) -> String {
        let accesses = targets.flatMap { target in target.destination == nil ? [target.access] : [target.access, target.access] }
        return zip(accesses, paths).map { "\($1) (\($0.writes ? "write" : "read"))" }.joined(separator: ", ")
    }

    /// The items that an accessor works with.
    struct Opened: Sendable {
        let urls: [URL]
        /// The paths of the targets.
        let places: [FilePath]
        /// The paths of the claim's items: the targets and, after each resolved link, its destination.
        let paths: [FilePath]
        let existed: [Bool]
        let isPresented: Bool
    }

    /// The places of items whose bytes the accessor reads.
    func readPlaces(_ opened: Opened) -> [FilePath] { zip(targets, opened.places).lazy.filter(\.0.readsBytes).map(\.1) }

    /// Copies the items to upload; blocks.
    ///
    /// - Throws: `fileSystem` when an item cannot be copied; the claim then continues.
    func snapshots(of opened: Opened) throws -> [UploadSnapshot?] {
        guard !isPreparation, targets.contains(where: \.isForUploading) else { return [] }
        var snapshots: [UploadSnapshot?] = []
        do {
            for (target, place) in zip(targets, opened.places) {
                snapshots.append(target.isForUploading ? try UploadSnapshot(of: place) : nil)
            }
        } catch {
            for snapshot in snapshots { snapshot?.remove() }
            throw error
        }
        return snapshots
    }

    /// Returns the URLs for the accessor, with the snapshots' URLs in place.
    func urls(_ opened: Opened, _ snapshots: [UploadSnapshot?]) -> [URL] {
        snapshots.isEmpty ? opened.urls : zip(opened.urls, snapshots).map { $1?.url ?? $0 }
    }

    /// Ends the claim after the accessor.
    func close(_ opened: Opened) {
        let observations = zip(opened.paths, opened.existed).map { Observation(existedBefore: $1, existsAfter: $0.existsWithoutFollowing) }
        // Resolved links are only read. If anything is written, places and targets therefore match one to one.
        let written = opened.isPresented ? zip(targets, opened.places).filter(\.0.access.writes).map(\.1) : []
        end(observations, written)
        if !isPreparation { coordinator.client.writes.tell { zip(targets, opened.places).filter(\.0.access.writes).map(\.1) } }
    }

    private func end(_ observations: [Observation], _ paths: [FilePath] = []) {
        // This comes first, because the next claim asks the presenter for its current URL.
        if let presenter = coordinator.presenter { coordinator.client.readAgainURL(of: presenter) }
        coordinator.client.end(id, observations, written: isPreparation ? [] : paths)
    }
}

extension FileCoordinator {
    /// Waits for a claim and runs the accessor.
    nonisolated(nonsending) func access<Value>(
        _ targets: () throws -> [AccessRun.Target], deadline: Deadline?, isPreparation: Bool = false,
        _ accessor: nonisolated(nonsending) ([URL]) async throws -> Value
    ) async throws -> Value {
        var deadline = deadline
        var waiting = ItemWaiting()
        while true {
            try Task.checkCancellation()
            let targets = try targets()
            // No claim is held during the wait, so the process that brings the item can write it.
            if let item = ItemSources.awaited(targets.readPlaces) { try await waiting.wait(for: item, &deadline) }
            let run = try AccessRun(self, targets, isPreparation: isPreparation)
            let grant: Grant
            if let immediate = run.immediate { grant = immediate } else { grant = try await client.wait(for: run.id, deadline: deadline) }
            guard let opened = try run.open(grant) else { continue }
            // It may have moved, or have been evicted, before the grant.
            if let item = ItemSources.awaited(run.readPlaces(opened)) {
                run.close(opened)
                try await waiting.wait(for: item, &deadline)
                continue
            }
            guard !isPreparation, run.targets.contains(where: \.isForUploading) else {
                defer { run.close(opened) }
                return try await CoordinationContext.$current.withValue(run.context) { try await accessor(opened.urls) }
            }
            return try await upload(run, opened, accessor)
        }
    }

    /// Runs the accessor on snapshots made outside the cooperative pool; the claim ends first unless another item needs
    /// it.
    nonisolated(nonsending) private func upload<Value>(
        _ run: AccessRun, _ opened: AccessRun.Opened, _ accessor: nonisolated(nonsending) ([URL]) async throws -> Value
    ) async throws -> Value {
        var isOpen = true
        defer { if isOpen { run.close(opened) } }
        let snapshots = try await offPool { try run.snapshots(of: opened) }
        defer { for snapshot in snapshots { snapshot?.remove() } }
        if run.isForUploadingOnly {
            run.close(opened)
            isOpen = false
        }
        return try await CoordinationContext.$current.withValue(run.context) { try await accessor(run.urls(opened, snapshots)) }
    }

    /// Waits for a claim and runs the accessor, blocking the calling thread.
    func accessBlocking<Value>(
        _ targets: () throws -> [AccessRun.Target], isPreparation: Bool = false, _ accessor: ([URL]) throws -> Value
    ) throws -> Value {
        warnOfBlocking()
        var waiting = ItemWaiting()
        while true {
            let targets = try targets()
            if let item = ItemSources.awaited(targets.readPlaces) { try waiting.waitBlocking(for: item) }
            let run = try AccessRun(self, targets, isPreparation: isPreparation)
            let grant = try run.immediate ?? client.waitBlocking(for: run.id)
            guard let opened = try run.open(grant) else { continue }
            if let item = ItemSources.awaited(run.readPlaces(opened)) {
                run.close(opened)
                try waiting.waitBlocking(for: item)
                continue
            }
            var isOpen = true
            defer { if isOpen { run.close(opened) } }
            let snapshots = try run.snapshots(of: opened)
            defer { for snapshot in snapshots { snapshot?.remove() } }
            if run.isForUploadingOnly {
                run.close(opened)
                isOpen = false
            }
            return try CoordinationContext.$current.withValue(run.context) { try accessor(run.urls(opened, snapshots)) }
        }
    }

    /// Warns in debug builds when blocking delays the user interface or a presenter.
    func warnOfBlocking() {
        #if DEBUG
            let place: String
            if CoordinationContext.current?.isHandlingMessage == true {
                place = "in a presenter's method, which delays its next messages"
            } else if Thread.isMainThread {
                place = "on the main thread"
            } else {
                return
            }
            client.logger.warning("A coordinated access for \(purpose) blocks \(place). Use the async form.")
        #endif
    }
}

extension [AccessRun.Target] {
    /// The places of items whose bytes an accessor reads.
    fileprivate var readPlaces: [FilePath] { lazy.filter(\.readsBytes).map(\.location.path) }
}
