internal import Foundation

/// A client of one Syncthing's REST interface.
///
/// Each call ends with its task: after a cancellation it throws `CancellationError` at once.
package struct SyncthingClient: Sendable {
    package let endpoint: SyncthingEndpoint
    /// The longest time for an answer, without the waiting time of a long poll.
    package let timeout: Duration
    private static let longestAnswer = 64 << 20

    package init(_ endpoint: SyncthingEndpoint, timeout: Duration) {
        self.endpoint = endpoint
        self.timeout = timeout
    }

    package func systemStatus() async throws -> SystemStatus {
        let status: SystemStatus = try await ask("system/status")
        guard !status.device.isEmpty else { throw unexpected("system/status", nil) }
        return status
    }

    package func folders() async throws -> [FolderConfiguration] {
        let folders: [Lossy<FolderConfiguration>] = try await ask("config/folders")
        return folders.compactMap(\.value)
    }

    package func devices() async throws -> [DeviceConfiguration] {
        let devices: [Lossy<DeviceConfiguration>] = try await ask("config/devices")
        return devices.compactMap(\.value)
    }

    package func version() async throws -> String { (try await ask("system/version") as SystemVersion).version }

    /// Returns the items that Syncthing has failed to fetch, at most a thousand.
    package func errors(in folder: String) async throws -> [FolderErrors.Item] {
        (try await ask("folder/errors", ["folder": folder, "page": "1", "perpage": "1000"]) as FolderErrors).items
    }

    package func connections() async throws -> Connections { try await ask("system/connections") }

    /// Returns when each device was connected last.
    package func statistics() async throws -> [String: DeviceStatistics] {
        (try await ask("stats/device") as [String: Lossy<DeviceStatistics>]).compactMapValues(\.value)
    }

    package func state(of folder: String) async throws -> FolderState { try await ask("db/status", ["folder": folder]) }

    package func ignores(of folder: String) async throws -> Ignores { try await ask("db/ignores", ["folder": folder]) }

    /// Returns the indices' entries for an item; nil if no index contains it.
    package func file(_ name: String, in folder: String) async throws -> FileAnswer? {
        do {
            return try await answer("db/file", ["folder": folder, "file": name]) as FileAnswer
        } catch let error as Missing where error.text.contains("No such object") {
            return nil
        } catch is Missing {
            // The folder is paused, or has gone.
            throw unexpected("db/file (404)", nil)
        }
    }

    package func completion(of device: String, in folder: String) async throws -> Completion {
        try await ask("db/completion", ["folder": folder, "device": device])
    }

    /// Returns the names that this device lacks, or has in an older version.
    package func need(in folder: String) async throws -> NeedPage { try await pages("db/need", ["folder": folder]) }

    /// Returns the names that another device lacks, as far as known.
    package func need(of device: String, in folder: String) async throws -> NeedPage {
        try await pages("db/remoteneed", ["folder": folder, "device": device])
    }

    /// Waits for events.
    ///
    /// - Parameters:
    ///   - types: the types of events; Syncthing numbers the events of each selection separately.
    ///   - last: the greatest number seen so far.
    ///   - wait: how long Syncthing waits if there is no event, in whole seconds.
    ///   - limit: the number of newest events; nil for all that Syncthing remembers.
    /// - Returns: the events in order; none if the time has passed.
    /// - Throws: `SyncthingError`, `CancellationError`.
    package func events(_ types: [String], after last: Int, wait: Duration, limit: Int? = nil) async throws -> [SyncthingEvent] {
        var query = ["events": types.joined(separator: ","), "since": String(last), "timeout": String(wait.components.seconds)]
        if let limit { query["limit"] = String(limit) }
        let events: [Lossy<SyncthingEvent>]? = try await ask("events", query, wait: wait)
        return events?.compactMap(\.value) ?? []
    }

    // MARK: -

    private func pages(_ path: String, _ query: [String: String]) async throws -> NeedPage {
        let length = 10_000
        var whole: NeedPage?
        var number = 1
        while true {
            let page: NeedPage = try await ask(path, query.merging(["page": String(number), "perpage": String(length)]) { old, _ in old })
            whole =
                whole.map { whole in
                    var whole = whole
                    whole.progress += page.progress
                    whole.waiting += page.waiting
                    return whole
                } ?? page
            if page.progress.count + page.waiting.count < length { return whole! }
            number += 1
        }
    }

    /// Syncthing's status 404, often with a text.
    private struct Missing: Error { var text: String }

    private func ask<Answer: Decodable & Sendable>(_ path: String, _ query: [String: String] = [:], wait: Duration = .zero) async throws -> Answer {
        do {
            return try await answer(path, query, wait: wait)
        } catch is Missing {
            throw unexpected("\(path) (404)", nil)
        }
    }

    private func answer<Answer: Decodable & Sendable>(
        _ path: String, _ query: [String: String], wait: Duration = .zero
    ) async throws -> Answer {
        let bytes = try await exchange("GET", path, query, timeout: timeout + wait)
        do {
            return try JSONDecoder().decode(Answer.self, from: Data(bytes))
        } catch {
            throw unexpected(path, error)
        }
    }

    /// Sends a request that changes something; the answer's content does not matter.
    ///
    /// - Parameters:
    ///   - method: `POST`, `PUT`, `PATCH` or `DELETE`.
    ///   - path: the path below `/rest/`.
    ///   - query: the parameters.
    ///   - body: JSON; nil for none.
    /// - Throws: `SyncthingError`, `CancellationError`.
    package func send(_ method: String, _ path: String, _ query: [String: String] = [:], body: [UInt8]? = nil) async throws {
        do {
            _ = try await exchange(method, path, query, body: body, timeout: timeout)
        } catch is Missing {
            throw unexpected("\(path) (404)", nil)
        }
    }

    /// Returns the body of an answer with the status 200.
    ///
    /// - Throws: `Missing` for the status 404; `SyncthingError`, `CancellationError`.
    private func exchange(
        _ method: String, _ path: String, _ query: [String: String], body: [UInt8]? = nil, timeout: Duration
    ) async throws -> [UInt8] {
        let (status, bytes) = try await fetch(method, path, query, body: body, timeout: timeout)
        switch status {
        case 200: return bytes
        case 401, 403:
            throw SyncthingError(
                .wrongKey, "Syncthing at \(endpoint) does not accept the API key; copy it again from its settings (Actions, Settings, General).")
        case 301, 302, 307, 308:
            throw SyncthingError(
                .invalidAddress,
                "Syncthing at \(endpoint) redirects to another address; give that address, with https if it uses https, and its certificate.")
        case 404: throw Missing(text: String(decoding: bytes.prefix(200), as: UTF8.self))
        default: throw unexpected("\(path) (\(status))", nil)
        }
    }

    private func unexpected(_ path: String, _ cause: (any Error)?) -> SyncthingError {
        SyncthingError(
            .unexpectedAnswer, "The answer at \(endpoint) for \(path) is not that of Syncthing 1.19 or newer; check the address.", cause: cause)
    }

    private var untrusted: SyncthingError {
        SyncthingError(
            .untrusted,
            endpoint.pin == nil
                ? "No authority that this system trusts has signed the certificate at \(endpoint); name Syncthing's own certificate, its https-cert.pem."
                : "The server at \(endpoint) shows another certificate than the configured one; if Syncthing has made a new one, name that."
        )
    }

    private func fetch(
        _ method: String, _ path: String, _ query: [String: String], body: [UInt8]?, timeout: Duration
    ) async throws -> (status: Int, bytes: [UInt8]) {
        var components = URLComponents(url: endpoint.address.appending(path: "rest/\(path)"), resolvingAgainstBaseURL: false)!
        // Go reads `+` in a query as a space, and rejects `;`.
        let allowed = CharacterSet.alphanumerics.intersection(CharacterSet(charactersIn: "\0"..."\u{7F}")).union(CharacterSet(charactersIn: "-._~"))
        if !query.isEmpty {
            components.percentEncodedQuery = query.sorted { $0.key < $1.key }
                .map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: allowed)!)" }.joined(separator: "&")
        }
        var request = HTTPRequest(method: method, url: components.string!, headers: ["X-API-Key": endpoint.key], body: body)
        if body != nil { request.headers["Content-Type"] = "application/json" }
        do {
            return try await withThrowingTaskGroup { [request] group in
                group.addTask { try await HTTPConnection.send(request, pin: endpoint.pin, limit: Self.longestAnswer) }
                group.addTask {
                    try await Task.sleep(for: timeout)
                    throw SyncthingError(
                        .timedOut, "Syncthing at \(endpoint) has not answered within \(timeout); check whether it hangs, or give it more time.")
                }
                defer { group.cancelAll() }
                return try await group.next()!
            }
        } catch let error as SyncthingError {
            throw error
        } catch {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            if HTTPConnection.isDistrust(error) { throw untrusted }
            throw SyncthingError(
                .notReachable, "Syncthing does not answer at \(endpoint); check that it runs, and that its web interface has this address.",
                cause: error)
        }
    }
}

// MARK: - For the setup

extension SyncthingClient {
    /// Returns the devices that have asked to connect and are unknown here.
    package func pendingDevices() async throws -> [PendingDevice] {
        let pending: [String: Lossy<PendingDevice>] = try await ask("cluster/pending/devices")
        return pending.compactMap { id, device in
            device.value.map { device in
                var device = device
                device.id = id
                return device
            }
        }.sorted { $0.id < $1.id }
    }

    /// Returns the labels under which other devices offer a folder, by their identifiers.
    package func offers(of folder: String) async throws -> [String: String] {
        let pending: [String: Lossy<PendingFolder>] = try await ask("cluster/pending/folders")
        return pending[folder]?.value?.labels ?? [:]
    }

    /// Adds a folder.
    package func add(_ folder: NewFolder) async throws {
        try await send("POST", "config/folders", body: Array(JSONEncoder().encode(folder)))
    }

    /// Adds a device.
    package func add(_ device: NewDevice) async throws {
        try await send("POST", "config/devices", body: Array(JSONEncoder().encode(device)))
    }

    /// Changes the label of a folder, the devices that share it, or its pause.
    package func change(folder: String, _ change: FolderChange) async throws {
        try await send("PATCH", "config/folders/\(folder)", body: Array(JSONEncoder().encode(change)))
    }

    /// Changes the name, the addresses or the pause of a device.
    package func change(device: String, _ change: DeviceChange) async throws {
        try await send("PATCH", "config/devices/\(device)", body: Array(JSONEncoder().encode(change)))
    }

    package func remove(folder: String) async throws { try await send("DELETE", "config/folders/\(folder)") }

    package func remove(device: String) async throws { try await send("DELETE", "config/devices/\(device)") }

    /// Ends Syncthing.
    package func shutDown() async throws { try await send("POST", "system/shutdown") }

    /// Returns the addresses at which devices of the local network reach this one, such as `tcp://192.168.1.7:22000`.
    package func listenAddresses() async throws -> [String] {
        let listeners: Listeners = try await ask("system/status")
        return listeners.addresses
    }
}
