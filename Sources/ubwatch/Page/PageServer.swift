import Foundation
import LoopbackServer
import Mustache
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Answers the requests of the page.
struct PageServer: Sendable {
    private let hub: PageHub
    private let allowsActions: Bool
    private let shell: MustacheTemplate

    /// - Parameters:
    ///   - hub: watches the containers.
    ///   - allowsActions: whether the page can do more than show.
    /// - Throws: an error in the shell's template.
    init(_ hub: PageHub, allowsActions: Bool) throws {
        (self.hub, self.allowsActions) = (hub, allowsActions)
        shell = try MustacheTemplate(string: String(decoding: PackageResources.pane_mustache, as: UTF8.self))
    }

    func answer(_ request: LoopbackRequest) async -> LoopbackAnswer {
        switch (request.method, request.path) {
        case ("GET", "/"): await shell(for: nil)
        case ("GET", "/pane.css"): .bytes(PackageResources.pane_css, type: "text/css; charset=utf-8")
        case ("GET", "/pane.js"): .bytes(PackageResources.pane_js, type: "text/javascript; charset=utf-8")
        case ("GET", "/icon.svg"): .bytes(PackageResources.icon_svg, type: "image/svg+xml")
        case ("GET", "/events"): .events(await hub.read(request.query["container"]))
        case ("GET", "/detail"): await detail(request.query["container"], request.query["target"])
        case ("POST", "/actions"): await act(request.body)
        case ("GET", let path) where path.hasPrefix("/container/"): await shell(for: String(path.dropFirst("/container/".count)))
        default: .failure("There is no such page.", 404)
        }
    }

    // MARK: The page

    private func shell(for container: String?) async -> LoopbackAnswer {
        let account = await hub.present
        let isUnknown = container.map { !account.containers.contains($0) } ?? false
        let links: [[String: Any]] = account.containers.map {
            ["identifier": $0.visible, "href": "/container/\($0.percentEncoded)", "isCurrent": $0 == container]
        }
        let values: [String: Any] = [
            "title": container.map { "\($0.visible) – Ubiquity" } ?? "Ubiquity", "account": account.name?.visible ?? "", "containers": links,
            "container": container ?? "", "isOverview": container == nil, "isContainer": container != nil && !isUnknown, "isUnknown": isUnknown,
            "allowsActions": allowsActions ? "true" : "false",
        ]
        return .bytes(Array(shell.render(values).utf8), type: "text/html; charset=utf-8", status: isUnknown ? 404 : 200)
    }

    // MARK: Details

    private struct DetailAnswer: Encodable {
        struct Line: Encodable {
            var pieces: [[String]]
            var target: String?
        }

        var title: String
        var lines: [Line]

        init(_ detail: Detail) {
            title = detail.title.visible
            lines = detail.lines.map { line in
                Line(pieces: line.pieces.map { [$0.text.visible, $0.style.name] }, target: line.target?.text)
            }
        }
    }

    private func detail(_ container: String?, _ target: String?) async -> LoopbackAnswer {
        guard let container, let view = await hub.view(of: container), let target = target.flatMap(Target.init) else {
            return .failure("There is no such entry.", 404)
        }
        var detail: Detail?
        if case .log(let log) = target {
            if view.contains(log: log) { detail = await LiveView.read(log: log) }
        } else {
            detail = try? await blocking { DetailMaker(view: view, now: Date(), files: .real).detail(of: target) }
        }
        guard let detail else { return .failure("It is not there any more.", 404) }
        return .json(DetailAnswer(detail))
    }

    // MARK: Actions

    private struct Asked: Decodable {
        var action: PageAction
        var container: String
        var target: String?
    }

    private struct Done: Encodable {
        var isDone: Bool
        var text: String
        var command: String
    }

    private func act(_ body: [UInt8]) async -> LoopbackAnswer {
        guard let asked = try? JSONDecoder().decode(Asked.self, from: Data(body)) else {
            return .failure("The request is none that this server knows.", 400)
        }
        let target = asked.target.flatMap(Target.init)
        guard asked.target == nil || target != nil else { return .failure("There is no such entry.", 400) }
        guard let facts = await hub.facts(of: asked.container), let command = asked.action.command(for: target, in: facts) else {
            return .failure("It is not there any more, or it is in another state; look again.", 409)
        }
        let outcome = await PageCommand.run(command)
        return .json(Done(isDone: outcome.isDone, text: outcome.text.visible, command: command.map(\.shellWord).joined(separator: " ").visible))
    }
}

extension ContainerView {
    /// Whether a path is that of a log of this container.
    func contains(log: String) -> Bool {
        let file = FilePath(log)
        return file.extension == "ublog" && file.lexicallyNormalized() == file && file.starts(with: FilePath(path).appending("CoreData"))
    }
}

extension LoopbackAnswer {
    fileprivate static func json(_ object: some Encodable, status: Int = 200) -> LoopbackAnswer {
        // Every object of these types has a form in JSON.
        .bytes(Array(((try? jsonLine(object)) ?? "{}").utf8), type: "application/json", status: status)
    }

    private struct Failure: Encodable {
        var error: String
    }

    fileprivate static func failure(_ reason: String, _ status: Int) -> LoopbackAnswer { json(Failure(error: reason), status: status) }
}

extension String {
    /// The text as a part of an address.
    fileprivate var percentEncoded: String { addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(.init(charactersIn: "-._~"))) ?? "" }
}
