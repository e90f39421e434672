package message_test
import ("testing";"os";"encoding/json";"fmt";"runpython/internal/message";"bufio")
func TestTry(t *testing.T){
 f,err:=os.Open("/tmp/try.jsonl"); if err!=nil {t.Skip()}
 sc:=bufio.NewScanner(f); sc.Buffer(nil,1<<24)
 for sc.Scan(){ var s string; json.Unmarshal(sc.Bytes(),&s)
  m:=message.Read(s); fmt.Printf("=== %q\n    %s reqs=%q py=%q notes=%q prose=%q\n",s,m.Kind,m.Requirements,m.RequiresPython,m.Notes,m.Prose)
  for _,c:=range m.Candidates {fmt.Printf("      act=%v run=%v %q  NOTE %q\n",c.MustAct,c.RunAnyway,c.Code,c.Note)}
 }
}
